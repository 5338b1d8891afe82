"""Table of the user: roles, kinds, encodings, aggregates, hierarchies, missing and special values.

Belongs here: declared parameters, columns as points and back, rules between columns. Does not
belong here: files, grouping, guarantees. Imports `kernels` and `errors` only.
"""
