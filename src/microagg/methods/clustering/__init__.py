"""Clusterings of the records: methods built on them, and PFSOM, which splits records for methods
that work part by part.
"""
