"""The user's table: columns and their roles, files and data frames, values to points and back.

May import kernels and errors alone.
"""
