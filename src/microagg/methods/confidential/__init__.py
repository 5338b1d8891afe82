"""Methods that look at the confidential columns while they form groups."""
