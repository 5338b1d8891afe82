"""Input and state of methods: points and k, remaining records, formed groups, control of a search.

May import guarantees and everything below.
"""
