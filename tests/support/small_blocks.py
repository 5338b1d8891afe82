"""Sizes of blocks, runs and pieces set small, so that tables of some thousand records take all the
ways of very large ones.
"""

from __future__ import annotations

import importlib

SIZES = {
    ("microagg.methods.search.blockwise", "MOST_AS_ONE"): 1000,
    ("microagg.problem.blocks", "LARGEST"): 400,
    ("microagg.problem.blocks", "SAMPLE"): 512,
    ("microagg.table.columns.digests", "RUN"): 64,
    ("microagg.table.encoder", "RUN"): 64,
    ("microagg.pipeline.turned_space", "RUN"): 64,
    ("microagg.pipeline.memory_budget", "RUN"): 64,
    ("microagg.pipeline.row_order", "RECORDS_IN_A_PIECE"): 1024,
    ("microagg.files.columnar.parquet_format", "RECORDS_IN_A_PIECE"): 1024,
    ("microagg.files.columnar.arrow_format", "RECORDS_AT_ONCE"): 256,
    ("microagg.files.columnar.parquet_folder", "RECORDS_IN_A_PART"): 2048,
    ("microagg.pipeline.text_intake", "RECORDS_IN_A_PIECE"): 512,
    ("microagg.pipeline.text_intake", "AT_ONCE"): 128,
}


def make_small(set_attribute=setattr) -> None:
    """Set them; with a monkeypatch's `setattr`, for one test only."""
    for (module, name), size in SIZES.items():
        set_attribute(importlib.import_module(module), name, size)
