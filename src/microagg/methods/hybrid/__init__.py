"""Hybrid microaggregation: the records are split into parts first, and grouped within each part."""
