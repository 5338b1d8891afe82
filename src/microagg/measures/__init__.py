"""What a release has lost and what an intruder gains: one declared object for each measure.

May import problem and everything below.
"""
