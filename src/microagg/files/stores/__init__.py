"""Locations of tables: local paths and addresses of object stores."""
