"""Guarantees: predicates on tables and on groups, recomputed and never assumed."""
