"""Files: reading and writing tables, one entry of `formats` for each format.

Belongs here: parsing and writing files, committing them atomically, object stores.
Does not belong here: roles, groups, guarantees. Imports `table` and below.
"""
