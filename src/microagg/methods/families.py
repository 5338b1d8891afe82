"""The families that methods belong to, in the order in which lists show them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from microagg.methods.method import Method

FAMILIES = {
    "search": "our own search for the lowest loss",
    "mdav": "groups formed one after another around outlying records",
    "fine-tuned": "heuristics with a second stage that dissolves groups again",
    "ordered": "an order of the records, cut into groups",
    "pairwise-systematic": "sorted once, then groups taken from both ends in turn",
    "imhm": "iterative optimisation: assignments and cuts in alternation",
    "trees": "spanning trees and joining of groups",
    "clustering": "clustering adapted to guarantee k",
    "genetic": "evolution of partitions",
    "confidential": "methods that use confidential values, or work part by part",
}


def by_family(methods: Iterable[Method]) -> Iterator[tuple[str, list[Method]]]:
    """(what the family is, its methods in the order of the registry), family by family.

    >>> from microagg.methods.registry import methods
    >>> next(by_family(methods()))[0]
    'our own search for the lowest loss'
    """
    listed = list(methods)
    for family, title in FAMILIES.items():
        members = [method for method in listed if method.family == family]
        if members:
            yield title, members
