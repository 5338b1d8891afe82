"""Parquet and Arrow files, and folders of parquet parts."""
