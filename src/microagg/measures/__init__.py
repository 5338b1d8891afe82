"""Measures of information loss and disclosure risk: one declared object for each measure.

May import problem and everything below.
"""
