"""k-anonymity, l-diversity, t-closeness: promised on groups, checked on tables.

May import table and kernels.
"""
