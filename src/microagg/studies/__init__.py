"""Questions that take several releases or none of ours: compare, assess, reproduce, bound, repeat.

May import release and everything below; nothing but the command line imports it.
"""
