"""Studies: many releases, or other people's."""
