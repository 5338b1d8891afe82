"""Preloaded by workers of Dask: the made-up setting, before anything of microagg is imported."""

import made_up_setting

made_up_setting.install()

from dask_clusters import dask_setup  # noqa: E402

__all__ = ["dask_setup"]
