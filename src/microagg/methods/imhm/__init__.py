"""Iterative MHM: assignment to centroids under size bounds and optimal cuts of paths, in turns."""
