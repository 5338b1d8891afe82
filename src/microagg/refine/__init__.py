"""Improving given groups: local search, annealing, integer programs, repair of groups that miss l or t.

May import measures and everything below.
"""
