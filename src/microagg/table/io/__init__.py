"""Reading and writing tables: files, each format an entry of `formats`, and data frames."""
