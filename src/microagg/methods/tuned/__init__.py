"""Heuristics with a second stage that takes groups apart where that loses less, and what they grow
from.
"""
