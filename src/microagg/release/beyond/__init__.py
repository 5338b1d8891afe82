"""From file to file beyond memory: what `protect` and `save` do, in passes over chunks and blocks, with the same release to the byte.

`run.py` goes through all passes, `closing.py` through the last ones; what a block releases is made in `finishing.py`, rows are written by
`rows.py`. What is not done beyond memory is named in `limits.py`.
"""
