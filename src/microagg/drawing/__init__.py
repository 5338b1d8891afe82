"""Pictures (the only room that imports matplotlib), and numbers as people read them.

May import measures and everything below. Drawing never touches the user's matplotlib settings.
"""
