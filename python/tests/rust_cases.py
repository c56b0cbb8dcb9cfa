"""Bad inputs from the Rust tests: lists of literals and simple calls, read as Python.

The tests of the scene reader hold their bad inputs as tuples of texts. What is needed of Rust is little: string
literals, `&`, `[..]` and calls of functions that are given here under the same names.
"""

from __future__ import annotations

import re

LITERAL = re.compile(r'r#"(?P<raw>.*?)"#|"(?P<text>(?:[^"\\]|\\.)*)"', re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", '"': '"', "'": "'"}


def unescaped(text):
    """The text of a Rust string literal."""
    text = re.sub(r"\\\n\s*", "", text)
    text = re.sub(r"\\u\{([0-9a-f]+)\}", lambda found: chr(int(found[1], 16)), text)
    return re.sub(r"\\(.)", lambda found: ESCAPES[found[1]], text)


def python_of(rust):
    """A Rust expression as one of Python."""
    texts = []

    def keep(found):
        texts.append(found["raw"] if found["raw"] is not None else unescaped(found["text"]))
        return f"\x00{len(texts) - 1}\x00"

    code = LITERAL.sub(keep, rust)
    code = re.sub(r"//[^\n]*", "", code)
    code = code.replace("[..]", "").replace("&", "").replace("String::new()", "''").replace("with(", "with_(")
    code = code.replace(".into()", "").replace(".to_string()", "")
    return re.sub("\x00(\\d+)\x00", lambda found: repr(texts[int(found[1])]), code)


def matching(text, start):
    """Where the bracket that opens at `start` is closed, string literals left out."""
    depth, place = 0, start
    while True:
        literal = LITERAL.match(text, place)
        if literal:
            place = literal.end()
            continue
        depth += (text[place] in "([{") - (text[place] in ")]}")
        place += 1
        if depth == 0:
            return place


def list_after(text, words, names=None, within=None):
    """The list that follows some words of the Rust text, in the function `within`."""
    start = text.index(f"fn {within}(") if within else 0
    start = text.index(words, start) + len(words)
    start = text.index("[", start)
    return eval(python_of(text[start : matching(text, start)]), {"__builtins__": {}}, names or {})


def pairs_of(text, function, names):
    """The arguments and the expected text of each `assert_eq!(function(argument), text)` that can be read."""
    for found in re.finditer(r"assert_eq!\(", text):
        start = found.end() - 1
        inside = text[start : matching(text, start)]
        if not re.match(rf"\(\s*{function}\(", inside):
            continue
        try:
            yield eval(python_of(inside).replace(function, ""), {"__builtins__": {}}, names)
        except (NameError, SyntaxError, AttributeError):
            continue
