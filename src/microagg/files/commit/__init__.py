"""Atomic writes: staged files, a journal, locks, protection against overwriting other files."""
