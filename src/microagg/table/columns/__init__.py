"""Columns of any table library as arrays: types, profiles, codes, labels, digests, and back."""
