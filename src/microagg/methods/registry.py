"""The list of all methods. A new method is one line here: its name and the dotted name of its
entry.

So a method can be asked for by name without importing the others.
"""

from __future__ import annotations

import difflib
import functools
import importlib

from microagg.errors import InputError
from microagg.formatting import html_table
from microagg.methods.method import Method

DEFAULT = "auto"

ENTRIES = (
    "auto = microagg.methods.search.auto:AUTO",
    "lns = microagg.methods.lns.lns:LNS",
    "mdav = microagg.methods.mdav.mdav:MDAV",
    "mdav1 = microagg.methods.mdav.mdav:MDAV1",
    "mdav-generic = microagg.methods.mdav.mdav:MDAV_GENERIC",
    "mdav-single-group = microagg.methods.mdav.single_group:MDAV_SINGLE_GROUP",
    "cbfs = microagg.methods.mdav.single_group:CBFS",
    "v-mdav = microagg.methods.mdav.v_mdav:V_MDAV",
    "mdav2k = microagg.methods.mdav.mdav2k:MDAV2K",
    "max-distance = microagg.methods.mdav.max_distance:MAX_DISTANCE",
    "diameter = microagg.methods.mdav.max_distance:DIAMETER",
    "mdav2 = microagg.methods.tuned.mdav2:MDAV2",
    "tfrp1 = microagg.methods.tuned.tfrp:TFRP1",
    "tfrp2 = microagg.methods.tuned.tfrp:TFRP2",
    "dba1 = microagg.methods.tuned.dba:DBA1",
    "dba2 = microagg.methods.tuned.dba:DBA2",
    "dba2p = microagg.methods.tuned.dba:DBA2P",
    "gsms = microagg.methods.tuned.gsms:GSMS",
    "gsms-t2 = microagg.methods.tuned.gsms:GSMS_T2",
    "hm = microagg.methods.ordered.mhm:HM",
    "mhm-mdav = microagg.methods.ordered.mhm:MHM_MDAV",
    "mhm-md = microagg.methods.ordered.mhm:MHM_MD",
    "mhm-cbfs = microagg.methods.ordered.mhm:MHM_CBFS",
    "mhm-npn = microagg.methods.ordered.mhm:MHM_NPN",
    "mhm-tsp = microagg.methods.ordered.mhm:MHM_TSP",
    "mhm = microagg.methods.ordered.mhm:MHM",
    "axis-column = microagg.methods.ordered.axis:AXIS_COLUMN",
    "axis-pca = microagg.methods.ordered.axis:AXIS_PCA",
    "axis-zscore = microagg.methods.ordered.axis:AXIS_ZSCORE",
    "individual-ranking = microagg.methods.ordered.individual_ranking:INDIVIDUAL_RANKING",
    "ps-multidsort = microagg.methods.ordered.ps:PS_MULTIDSORT",
    "ps-meansort = microagg.methods.ordered.ps:PS_MEANSORT",
    "imhm = microagg.methods.imhm.imhm:IMHM",
    "rimhm = microagg.methods.imhm.imhm:RIMHM",
    "kc = microagg.methods.clustering.kc:KC",
    "hybrid = microagg.methods.hybrid.hybrid:HYBRID",
    "hm-pfsom = microagg.methods.hybrid.hm_pfsom:HM_PFSOM",
    "mst = microagg.methods.trees.mst:MST",
    "k-ward = microagg.methods.trees.k_ward:K_WARD",
    "mu-approx = microagg.methods.trees.mu_approx:MU_APPROX",
    "pcl = microagg.methods.clustering.pcl:PCL",
    "fcm = microagg.methods.clustering.fcm:FCM",
    "genetic = microagg.methods.genetic.genetic:GENETIC",
    "t-first = microagg.methods.confidential.t_first:T_FIRST",
)


@functools.cache
def methods() -> tuple[Method, ...]:
    """Return all methods, in the order of the registry.

    Returns
    -------
    tuple of Method
        Each with its name, source, parameters and complexity.

    Examples
    --------
    >>> [method.name for method in methods()][:2]
    ['auto', 'lns']
    """
    return MethodTable(method_named(name) for name in _places())


class MethodTable(tuple[Method, ...]):
    """Methods in a tuple that a notebook shows as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        rows = ((entry.name, entry.summary, entry.good_for, entry.source) for entry in self)
        return html_table(("method", "what it does", "good for", "source"), rows)


def method_named(name: str) -> Method:
    """The method of that name.

    >>> method_named("mdav").family
    'mdav'
    """
    places = _places()
    if not isinstance(name, str) or name not in places:
        near = difflib.get_close_matches(str(name), places, 3)
        hint = f"the nearest: {', '.join(near)}" if near else f"choose from {', '.join(places)}"
        raise InputError(f"there is no method {name!r}; {hint}.")
    module, _, attribute = places[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def _places() -> dict[str, str]:
    """Return the module of the entry of each name."""
    named = (entry.partition(" = ") for entry in ENTRIES)
    return {name: module for name, _, module in named}
