"""Steps from a table to a verified release: prepare, group, aggregate, verify, measure, write.

`in_memory.py` drives a table in memory, `out_of_core.py` one that is read in chunks, on this
machine or on Dask. Imports `release`, `runtime`, `methods` and everything below.
"""
