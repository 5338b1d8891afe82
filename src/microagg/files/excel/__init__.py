"""Excel workbooks: cells as Arrow columns, size checks before reading, a small writer."""
