"""Execution of tasks: threads or Dask workers, spill files, cancellation.

Belongs here: everything that does not know what a task computes. `dask.py` alone imports dask.
"""
