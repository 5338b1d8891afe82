"""Columns of any table library as arrays: types, profiles, codes, labels, digests, and back.

Belongs here: reading cells of any type, inferring types of text, restoring the original type. Does
not belong here: files (see `files`), roles and kinds (see `table`), grouping.
"""
