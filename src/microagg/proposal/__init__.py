"""Proposed roles and kinds of columns, from their names, types and counts."""
