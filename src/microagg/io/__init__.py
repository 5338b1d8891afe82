"""Reading and writing tables: csv and parquet, through pyarrow."""
