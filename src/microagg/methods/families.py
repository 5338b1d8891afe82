"""The families that methods belong to, in the order in which lists show them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from microagg.methods.method import Method

FAMILIES = {
    "search": "our own search for the least loss",
    "mdav": "groups around far records, one after the other",
    "fine-tuned": "heuristics made for a second stage that takes groups apart again",
    "ordered": "an order of the records, cut into groups",
    "pairwise-systematic": "sorted once, then a group from either end in turns",
    "imhm": "iterative optimisation: assignments and cuts in turns",
    "trees": "trees and joining of groups",
    "clustering": "clusterings that are made to hold k",
    "genetic": "evolution of partitions",
    "confidential": "methods that look at confidential values, or work part by part",
}


def by_family(methods: Iterable[Method]) -> Iterator[tuple[str, list[Method]]]:
    """(what the family is, its methods in the order of the registry), family by family.

    >>> from microagg.methods.registry import methods
    >>> next(by_family(methods()))[0]
    'our own search for the least loss'
    """
    listed = list(methods)
    for family, title in FAMILIES.items():
        members = [method for method in listed if method.family == family]
        if members:
            yield title, members
