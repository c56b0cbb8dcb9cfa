"""Turns function calls into command lines."""

from __future__ import annotations

import json
import os
from typing import Any, Iterable, Mapping, Union

from ._sinew import command

Word = Union[str, int, float, "os.PathLike[str]"]
Many = Union[Word, Iterable[Word]]


def call_json(path: list[str], places: list[Any], options: Mapping[str, Any]) -> Any:
    """Runs a command with its arguments and returns its JSON."""
    output, _ = _run([*path, "--json"], places, options)
    return json.loads(output)


def call_text(path: list[str], places: list[Any], options: Mapping[str, Any]) -> str:
    """Runs a command with its arguments and returns its output, or its messages if there is none."""
    output, messages = _run(path, places, options)
    return output or messages


def _run(path: list[str], places: list[Any], options: Mapping[str, Any]) -> tuple[str, str]:
    """The output and the messages of a command."""
    words = list(path)
    for option, value in options.items():
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
            continue
        # Joined with the option, so that values may begin with a minus.
        words += [f"{option}={_text(item)}" for item in _items(value)]
    given = [_text(item) for place in places if place is not None for item in _items(place)]
    words += ["--", *given] if given else []
    _, output, messages = command(words)
    return output, messages


def _items(value: Any) -> list[Any]:
    """Repeatable values as a list; a dict of overrides becomes a list of `key=value`."""
    if isinstance(value, Mapping):
        return [f"{key}={_text(item)}" for key, item in value.items()]
    if isinstance(value, (str, bytes, os.PathLike)) or not isinstance(value, Iterable):
        return [value]
    return list(value)


def _text(value: Any) -> str:
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)
