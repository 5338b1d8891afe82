"""Separated text (csv, tsv): decoding, dialects, headers, quoting, locale numbers, writing."""
