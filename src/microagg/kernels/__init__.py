"""Compiled loops on plain arrays. May import nothing of microagg."""
