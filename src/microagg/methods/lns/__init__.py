"""Annealing by small ruins."""
