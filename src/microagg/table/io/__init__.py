"""Reading and writing tables: files and data frames."""
