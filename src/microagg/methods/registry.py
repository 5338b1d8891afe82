"""The list of all methods. A new method is one line here: the dotted name of its entry."""

from __future__ import annotations

import functools
import importlib

from microagg.errors import InputError
from microagg.methods.method import Method

DEFAULT = "auto"

ENTRIES = (
    "microagg.methods.search.auto:AUTO",
    "microagg.methods.lns.lns:LNS",
    "microagg.methods.mdav.mdav:MDAV",
    "microagg.methods.mdav.mdav:MDAV1",
    "microagg.methods.mdav.mdav:MDAV_GENERIC",
    "microagg.methods.mdav.single_group:MDAV_SINGLE_GROUP",
    "microagg.methods.mdav.single_group:CBFS",
    "microagg.methods.mdav.v_mdav:V_MDAV",
    "microagg.methods.mdav.mdav2k:MDAV2K",
    "microagg.methods.mdav.max_distance:MAX_DISTANCE",
    "microagg.methods.mdav.max_distance:DIAMETER",
    "microagg.methods.tuned.mdav2:MDAV2",
    "microagg.methods.tuned.tfrp:TFRP1",
    "microagg.methods.tuned.tfrp:TFRP2",
    "microagg.methods.tuned.dba:DBA1",
    "microagg.methods.tuned.dba:DBA2",
    "microagg.methods.tuned.dba:DBA2P",
    "microagg.methods.tuned.gsms:GSMS",
    "microagg.methods.tuned.gsms:GSMS_T2",
    "microagg.methods.ordered.mhm:HM",
    "microagg.methods.ordered.mhm:MHM_MDAV",
    "microagg.methods.ordered.mhm:MHM_MD",
    "microagg.methods.ordered.mhm:MHM_CBFS",
    "microagg.methods.ordered.mhm:MHM_NPN",
    "microagg.methods.ordered.mhm:MHM_TSP",
    "microagg.methods.ordered.mhm:MHM",
    "microagg.methods.ordered.axis:AXIS_COLUMN",
    "microagg.methods.ordered.axis:AXIS_PCA",
    "microagg.methods.ordered.axis:AXIS_ZSCORE",
    "microagg.methods.ordered.individual_ranking:INDIVIDUAL_RANKING",
    "microagg.methods.ordered.ps:PS_MULTIDSORT",
    "microagg.methods.ordered.ps:PS_MEANSORT",
    "microagg.methods.imhm.imhm:IMHM",
    "microagg.methods.imhm.imhm:RIMHM",
    "microagg.methods.clustering.kc:KC",
    "microagg.methods.hybrid.hybrid:HYBRID",
    "microagg.methods.hybrid.hm_pfsom:HM_PFSOM",
    "microagg.methods.trees.mst:MST",
    "microagg.methods.trees.k_ward:K_WARD",
    "microagg.methods.trees.mu_approx:MU_APPROX",
    "microagg.methods.clustering.pcl:PCL",
    "microagg.methods.clustering.fcm:FCM",
    "microagg.methods.genetic.genetic:GENETIC",
    "microagg.methods.confidential.t_first:T_FIRST",
)


@functools.cache
def methods() -> tuple[Method, ...]:
    """All methods, in the order of the registry.

    >>> [method.name for method in methods()][:2]
    ['auto', 'lns']
    """
    return tuple(_load(entry) for entry in ENTRIES)


def method_named(name: str) -> Method:
    """The method of that name."""
    for method in methods():
        if method.name == name:
            return method
    raise InputError(f"there is no method {name!r}; there are {', '.join(m.name for m in methods())}.")


def _load(entry: str) -> Method:
    module, _, attribute = entry.partition(":")
    return getattr(importlib.import_module(module), attribute)
