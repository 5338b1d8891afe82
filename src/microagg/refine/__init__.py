"""Improving given groups: local search, annealing, integer programs, repair of groups that miss
l, t or units.

May import measures and everything below.
"""
