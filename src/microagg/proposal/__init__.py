"""Proposed roles and kinds of columns, from their names, types and counts.

Belongs here: hints in names, the rules of a proposal, its text for terminal, shell and files. Does
not belong here: profiles of columns (see `table.columns.profile`), protection.
"""
