"""From a table to a release: settings, the way of the data, manifests, report.

May import engine and everything below it; knows of no command line.
"""
