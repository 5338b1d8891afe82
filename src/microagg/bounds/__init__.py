"""Proven lower bounds on the loss of any grouping, and their certificates.

May import refine and everything below; the checker of certificates is `verify_bound`, which imports
nothing of this.
"""
