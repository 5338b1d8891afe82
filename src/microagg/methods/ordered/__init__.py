"""Methods that put the records into an order first: runs along it, the optimal cut of it, groups
from both its ends.
"""
