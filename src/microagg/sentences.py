"""Sentences of errors and warnings, which keep the settings they name as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

FormatSetting = Callable[[str, Any], str]
"""Writes a setting as its reader types it: as an argument in Python, as an option in a shell."""


def as_argument(name: str, value: Any) -> str:
    """Write a setting as Python takes it.

    >>> as_argument("l", 2), as_argument("kinds", {"zip": "numeric"})
    ('l=2', "kinds={'zip': 'numeric'}")
    """
    return f"{name}={value!r}"


@dataclass(frozen=True)
class Assignment:
    """A setting with a value, which a sentence names."""

    name: str
    value: Any


class Sentence(str):
    """A text that keeps the settings it names as data, for readers who type them otherwise.

    >>> advice = sentence("fill it in, or say ", Assignment("missing", "group"), ".")
    >>> advice, advice.render(lambda name, value: f"--{name} {value}")
    ("fill it in, or say missing='group'.", 'fill it in, or say --missing group.')
    """

    parts: tuple[str | Assignment, ...]

    def __new__(cls, parts: tuple[str | Assignment, ...]) -> Sentence:
        """Write the settings as Python takes them."""
        made = super().__new__(cls, _written(parts, as_argument))
        made.parts = parts
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the parts; the text is made of them."""
        return Sentence, (self.parts,)

    def render(self, format_setting: FormatSetting) -> str:
        """Return the text with settings in another notation, such as that of a shell."""
        return _written(self.parts, format_setting)

    def changed(self, change: Callable[[str], str]) -> Sentence:
        """Return the sentence with its text changed piece by piece; settings stay."""
        return Sentence(
            tuple(change(part) if isinstance(part, str) else part for part in self.parts)
        )

    def without_period(self) -> Sentence:
        """Return the sentence without the period at its end, to be continued."""
        *before, last = self.parts
        return Sentence((*before, last.rstrip(".") if isinstance(last, str) else last))


def _written(parts: tuple[str | Assignment, ...], format_setting: FormatSetting) -> str:
    return "".join(
        part if isinstance(part, str) else format_setting(part.name, part.value) for part in parts
    )


def sentence(*parts: object) -> Sentence:
    """Return the sentence of these parts: texts, settings, sentences, and errors that have one.

    >>> inner = sentence("say ", Assignment("l", 2))
    >>> sentence("in the release, ", inner, ".").render(lambda *_: "--l 2")
    'in the release, say --l 2.'
    """
    flat: list[str | Assignment] = []
    for part in parts:
        part = getattr(part, "sentence", part)
        if isinstance(part, Sentence):
            flat.extend(part.parts)
        else:
            flat.append(part if isinstance(part, Assignment) else str(part))
    return Sentence(tuple(flat))


def rendered(text: object, format_setting: FormatSetting) -> str:
    """Return a sentence, or the message of a warning, in another notation; other texts stay."""
    if isinstance(text, Warning) and text.args:
        text = text.args[0]
    return text.render(format_setting) if isinstance(text, Sentence) else str(text)
