"""Maximum distance to average vector and its relatives: groups around the records on the
outside.
"""
