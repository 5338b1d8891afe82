"""Guarantees (k-anonymity, l-diversity, t-closeness): searched for in groups, checked on tables.

May import table and kernels.
"""
