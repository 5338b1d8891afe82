"""Methods that build all groups at once, by cutting trees or by joining groups."""
