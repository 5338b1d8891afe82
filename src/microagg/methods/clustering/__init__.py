"""Methods built on clusterings of the records."""
