"""What methods are given: points and k, the records left, the groups formed, the watch over a
search.

May import guarantees and everything below.
"""
