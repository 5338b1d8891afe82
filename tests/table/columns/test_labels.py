"""Tags of missing values as numbers, and back."""

from __future__ import annotations

import pytest

from microagg.table.columns.labels import TAGS, code_of_tag, tag_of_code


@pytest.mark.parametrize("tag", TAGS)
def test_every_tag_comes_back_from_its_number(tag: str) -> None:
    code = code_of_tag(tag)
    assert tag_of_code(code) == tag
    assert tag_of_code(float(code)) == tag
    assert code_of_tag(tag.upper()) == code


def test_numbers_beside_the_tags_have_none() -> None:
    codes = sorted(map(code_of_tag, TAGS))
    assert codes == list(range(codes[0], codes[0] + len(TAGS)))
    for code in (codes[0] - 1, codes[-1] + 1, codes[0] + 0.5, 0, -9, "a", "97"):
        assert tag_of_code(code) is None
