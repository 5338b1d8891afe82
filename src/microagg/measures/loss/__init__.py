"""What a release has lost."""
