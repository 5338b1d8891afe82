"""The default: which way to search, where to start when l or t is asked for, search and bound
against each other.
"""
