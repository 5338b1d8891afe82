"""`python -m microagg` is the command line."""

from microagg.cli.start import start

start()
