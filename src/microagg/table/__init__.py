"""The user's table: columns and their roles, files and data frames, values to points and back; how
parameters are declared.

May import kernels and errors alone.
"""
