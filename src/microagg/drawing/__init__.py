"""Pictures: those of reports as SVG, all others by matplotlib, which no other folder imports.

May import measures and everything below. Drawing never touches the user's matplotlib settings.
"""
