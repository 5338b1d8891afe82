"""Attacks on a release: singling out, linkability and inference, with a control group.

An attack is played on a rerun of a release without the control group. What succeeds on the control
group as well is knowledge about the population, not a leak.
"""
