"""`python -m microagg` is the command line."""

from microagg.cli.commands import start

start()
