"""Arrow's compute functions. They are made at run time, where no type checker sees them; this is their one door."""

from __future__ import annotations

from typing import Any

import pyarrow.compute

compute: Any = pyarrow.compute
