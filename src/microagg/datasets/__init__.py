"""Data to try things on: generated persons, and the loader for the CASC reference data."""
