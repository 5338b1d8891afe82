"""The command line: commands, the progress bar, what is shown. No logic; may import every room."""
