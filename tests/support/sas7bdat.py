"""SAS's own files for tests. No library writes them for Python, but ReadStat in C does, and
pyreadstat ships it: called from there.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

STRING, DOUBLE = 0, 5
WRITE = ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)


def _library() -> Any:
    from pyreadstat import _readstat_writer

    library: Any = ctypes.CDLL(_readstat_writer.__file__)
    library.readstat_writer_init.restype = ctypes.c_void_p
    library.readstat_add_variable.restype = ctypes.c_void_p
    return library


def write(columns: dict[str, list[Any]], path: Path, formats: dict[str, str] | None = None) -> Path:
    """Write numbers and texts; in a column of numbers, a letter stands for a tagged missing value,
    None for a plain one.
    """
    library, pointer = _library(), ctypes.c_void_p
    made = bytearray()

    def keep(data: int, length: int, _: Any) -> int:
        made.extend(ctypes.string_at(data, length))
        return length

    callback = WRITE(keep)
    writer = pointer(library.readstat_writer_init())
    assert library.readstat_set_data_writer(writer, callback) == 0
    variables = {}
    for name, cells in columns.items():
        text = all(isinstance(cell, str) and len(cell) > 1 for cell in cells if cell is not None)
        width = max((len(cell.encode()) for cell in cells if cell), default=1) if text else 0
        kind = STRING if text else DOUBLE
        variables[name] = (
            pointer(
                library.readstat_add_variable(writer, name.encode(), kind, ctypes.c_size_t(width))
            ),
            text,
        )
        library.readstat_variable_set_label(variables[name][0], f"label of {name}".encode())
        if name in (formats or {}):
            library.readstat_variable_set_format(variables[name][0], (formats or {})[name].encode())
    rows = len(next(iter(columns.values())))
    assert library.readstat_begin_writing_sas7bdat(writer, None, ctypes.c_long(rows)) == 0
    for row in range(rows):
        assert library.readstat_begin_row(writer) == 0
        for name, (variable, text) in variables.items():
            cell = columns[name][row]
            if cell is None:
                code = library.readstat_insert_missing_value(writer, variable)
            elif text:
                code = library.readstat_insert_string_value(writer, variable, cell.encode())
            elif isinstance(cell, str):
                code = library.readstat_insert_tagged_missing_value(
                    writer, variable, ctypes.c_char(cell.encode())
                )
            else:
                code = library.readstat_insert_double_value(writer, variable, ctypes.c_double(cell))
            assert code == 0
        assert library.readstat_end_row(writer) == 0
    assert library.readstat_end_writing(writer) == 0
    library.readstat_writer_free(writer)
    path.write_bytes(bytes(made))
    return path
