"""Clusterings: they split the records into parts of any size, for methods that work part by part."""
