"""Running a method on a problem and making sure of what it returns.

May import methods and everything below.
"""
