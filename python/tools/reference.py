"""Writes docs/reference/python.md from the docstrings, signatures and type stubs of the package.

    python python/tools/reference.py > docs/reference/python.md
    python python/tools/reference.py --check docs/reference/python.md

The second one exits with 1 and prints the first difference. Needs only the package; the types of compiled parts come
from `sinew/_sinew.pyi`, or the file given by `--stubs`.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import sys
import textwrap
from pathlib import Path
from typing import Any, Callable, Iterator, Optional

import sinew

INTRODUCTION = """\
# Python reference

<!-- Written by `python python/tools/reference.py` from the package itself; edit the docstrings instead. -->

Everything in `import sinew`, by subject. How to use it: [Sinew in Python](../guide/python.md),
[sweeps](../guide/sweeps.md), and the [tutorial](../guide/python_tutorial.ipynb). Keys of scenes:
[the scene reference](scene.md).

**Terms.** An *array* is a NumPy array of float64, or of uint32 if it holds node indices; voxels are uint16 or float32. A *view* shows the memory of
its owner and is read-only. A *path* is a string or a `pathlib.Path`. A default of `…` is one that signatures do not
show: no forces, the current folder, 640 × 480 pixels, the last frame. Lengths, masses and times are in m, kg and s.
"""

# Subjects: heading, names, and the text between them.
SUBJECTS: list[tuple[str, list[str], str]] = [
    ("Scene", ["Scene"], ""),
    ("Simulation", ["Simulation", "Body", "State", "Control", "Step"], ""),
    ("Meshes", ["Mesh", "Lattice", "Cover"], ""),
    ("Anatomy", ["Volume", "Recipe", "Model"], "With examples: [images](../guide/images.md#in-python)."),
    ("Materials", ["Material"], ""),
    ("Forces", ["Force", "force.check"], ""),
    ("Whole runs", ["run", "Run", "lab", "Lab"], ""),
    ("Sweeps", ["sweep", "prepare_sweep", "collect", "Sweep", "FailedPoint"], "With examples: [sweeps](../guide/sweeps.md)."),
    ("Recordings and pictures", ["Recording", "Frame", "Picture"], ""),
]

ERRORS = ["SinewError", "SceneError", "StepError", "RunError", "BusyError", "ResumeError", "MeshError", "VolumeError", "ForceError", "SweepError"]

# Types of the stubs in the terms of this page.
TYPES = [
    ("str | PathLike[str]", "path"),
    ("str | os.PathLike[str]", "path"),
    ("SupportsFloat | SupportsIndex", "float"),
    ("SupportsIndex", "int"),
    ("npt.NDArray[Any]", "array"),
    ("np.ndarray", "array"),
    ("Incomplete", "array"),
    ("dict[str, Any]", "dict"),
    ("Path", "pathlib.Path"),
    ("SupportsGetItem[int, str]", "list[str]"),
    ("SupportsGetItem[int, Any]", "list"),
]

# Operations of special methods, in the order of the page.
ABILITIES = [
    ("__eq__", "`==`"),
    ("__len__", "`len()`"),
    ("__getitem__", "`[…]`"),
    ("__setitem__", "`[…] = …`"),
    ("__delitem__", "`del …[…]`"),
    ("__contains__", "`in`"),
    ("__iter__", "`for`"),
    ("__reduce__", "pickle"),
]


def main() -> int:
    """Prints the page, or compares it with a file."""
    parser = argparse.ArgumentParser(description="Writes the Python reference.")
    parser.add_argument("--check", metavar="FILE", type=Path, help="compares the page with a file instead of printing it")
    parser.add_argument("--stubs", metavar="FILE", type=Path, default=Path(sinew.__file__).parent / "_sinew.pyi")
    asked = parser.parse_args()
    if not asked.stubs.is_file():
        print(f"error: no type stubs in {asked.stubs.name}\nhint: build the package, or name them with --stubs", file=sys.stderr)
        return 2
    page = Page(ast.parse(asked.stubs.read_text(encoding="utf-8"))).text()
    if asked.check is None:
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
        sys.stdout.write(page)
        return 0
    return compare(page, asked.check)


def compare(page: str, path: Path) -> int:
    """Prints the first line in which a file differs from the page."""
    found = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    wanted = page.splitlines()
    for number in range(max(len(found), len(wanted))):
        have = found[number] if number < len(found) else "(end of file)"
        want = wanted[number] if number < len(wanted) else "(end of file)"
        if have != want:
            print(f"{path}:{number + 1} is not current\n  there: {have}\n  now:   {want}", file=sys.stderr)
            print(f"hint: python python/tools/reference.py > {path}", file=sys.stderr)
            return 1
    return 0


class Page:
    """The page, piece by piece."""

    def __init__(self, stubs: ast.Module) -> None:
        self.classes = {node.name: node for node in stubs.body if isinstance(node, ast.ClassDef)}
        self.functions = {node.name: node for node in stubs.body if isinstance(node, ast.FunctionDef)}

    def text(self) -> str:
        """All of it."""
        pieces = [INTRODUCTION]
        for heading, names, words in SUBJECTS:
            # A subject with one class already has its name.
            is_alone = names[0] == heading
            pieces += [] if is_alone else [f"## {heading}\n"]
            pieces += [words + "\n"] if words else []
            for name in names:
                level = "##" if name == heading else "###"
                pieces += list(self.thing(name, level))
            pieces += list(materials()) if heading == "Materials" else []
            pieces += list(bridges()) if heading == "Meshes" else []
        pieces += list(errors())
        pieces += list(commands(self.signature(self.functions["command"])))
        return re.sub(r"\n{3,}", "\n\n", "\n".join(pieces)).rstrip() + "\n"

    def thing(self, name: str, level: str) -> Iterator[str]:
        """A class or function, from the stubs if they have it."""
        plain = name.rpartition(".")[2]
        if name in self.classes:
            yield from self.compiled_class(self.classes[name], level)
        elif name in self.functions:
            yield f"{level} {name}\n"
            yield f"```python\n{name}{self.signature(self.functions[name])}\n```\n"
            yield prose(ast.get_docstring(self.functions[name])) + "\n"
        else:
            value: Any = sinew
            for part in name.split("."):
                value = getattr(value, part)
            yield f"{level} {name if name == plain else 'sinew.' + name}\n"
            yield from (python_class(value) if inspect.isclass(value) else python_function(value))

    def compiled_class(self, node: ast.ClassDef, level: str) -> Iterator[str]:
        """A class of the extension."""
        yield f"{level} {node.name}\n"
        members = [item for item in node.body if isinstance(item, ast.FunctionDef)]
        make = next((item for item in members if item.name == "__new__"), None)
        if make is not None:
            yield f"```python\n{node.name}{self.signature(make, returns=False)}\n```\n"
        yield prose(ast.get_docstring(node)) + "\n"
        if make is not None and ast.get_docstring(make):
            yield prose(ast.get_docstring(make)) + "\n"
        public = [item for item in members if not item.name.startswith("_")]
        decorations = {id(item): [ast.unparse(word) for word in item.decorator_list] for item in public}
        settable = {item.name for item in public if f"{item.name}.setter" in decorations[id(item)]}
        attributes = [item for item in public if "property" in decorations[id(item)]]
        if attributes:
            yield "| attribute | type | meaning |\n|---|---|---|"
            for item in attributes:
                kind = type_words(ast.unparse(item.returns)) if item.returns else ""
                kind = "" if kind == "Any" else kind
                can_set = " Can be set." if item.name in settable else ""
                meaning = cell(ast.get_docstring(item)) + can_set
                yield f"| `{item.name}` | {cell(kind)} | {meaning} |"
            yield ""
        methods = [item for item in public if not any("property" in word or "setter" in word for word in decorations[id(item)])]
        if methods:
            yield "| method | meaning |\n|---|---|"
            for item in methods:
                is_static = "staticmethod" in decorations[id(item)]
                owner = f"{node.name}." if is_static else "."
                call = f"{owner}{item.name}{self.signature(item)}".replace("|", "\\|")
                yield f"| `{call}` | {cell(ast.get_docstring(item))} |"
            yield ""
        yield from abilities({item.name for item in members})

    def signature(self, node: ast.FunctionDef, *, returns: bool = True) -> str:
        """Parameters and result, without `self` and with types in our terms."""
        given = node.args
        positional = [*given.posonlyargs, *given.args]
        defaults = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
        parts = [parameter(one, default) for one, default in zip(positional, defaults) if one.arg not in ("self", "cls")]
        if given.vararg is not None:
            parts.append(f"*{given.vararg.arg}")
        elif given.kwonlyargs:
            parts.append("*")
        parts += [parameter(one, default) for one, default in zip(given.kwonlyargs, given.kw_defaults)]
        parts += [f"**{given.kwarg.arg}"] if given.kwarg is not None else []
        result = type_words(ast.unparse(node.returns)) if returns and node.returns else ""
        return f"({', '.join(parts)})" + (f" -> {result}" if result not in ("", "None", "Any") else "")


def parameter(one: ast.arg, default: Optional[ast.expr]) -> str:
    """A parameter of the stubs; omits `Any`, which says nothing."""
    kind = type_words(ast.unparse(one.annotation)) if one.annotation else ""
    kind = "" if kind in ("Any", "Any | None") else kind
    text = f"{one.arg}: {kind}" if kind else one.arg
    if default is None:
        return text
    value = "…" if ast.unparse(default) in ("...", "Ellipsis") else ast.unparse(default)
    return f"{text} = {value}" if kind else f"{text}={value}"


def type_words(text: str) -> str:
    """A type in the terms of the page."""
    for theirs, ours in TYPES:
        if theirs == "Path":
            text = re.sub(r"(?<![\w.])Path\b", ours, text)
        else:
            text = text.replace(theirs, ours)
    return text


def python_function(function: Callable[..., Any]) -> Iterator[str]:
    """A function written in Python."""
    yield f"```python\n{function.__name__}{python_signature(function)}\n```\n"
    yield prose(inspect.getdoc(function)) + "\n"


def python_class(value: type) -> Iterator[str]:
    """A class written in Python."""
    yield prose(inspect.getdoc(value)) + "\n"
    fields = getattr(value, "_fields", ())
    if fields:
        yield f"Fields: {', '.join(f'`{name}`' for name in fields)}.\n"
    own = {name: item for name, item in vars(value).items() if not name.startswith("_") and name not in fields}
    described = [(name, item) for name, item in own.items() if inspect.getdoc(item) and (inspect.isfunction(item) or isinstance(item, property))]
    if described:
        yield "| member | meaning |\n|---|---|"
        for name, item in described:
            call = f".{name}" if isinstance(item, property) else f".{name}{python_signature(item)}"
            yield f"| `{call}`".replace("|", "\\|").replace("\\|", "|", 1) + f" | {cell(inspect.getdoc(item))} |"
        yield ""


def python_signature(function: Callable[..., Any]) -> str:
    """The signature of a Python function; annotations are already strings."""
    asked = inspect.signature(function)
    parts, was_star = [], False
    for one in asked.parameters.values():
        if one.name == "self":
            continue
        if one.kind is one.KEYWORD_ONLY and not was_star:
            parts.append("*")
        was_star = was_star or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        star = "*" if one.kind is one.VAR_POSITIONAL else "**" if one.kind is one.VAR_KEYWORD else ""
        kind = "" if one.annotation is one.empty else type_words(str(one.annotation))
        text = f"{star}{one.name}" + (f": {kind}" if kind not in ("", "Any") else "")
        if one.default is not one.empty:
            text += f" = {one.default!r}" if ": " in text else f"={one.default!r}"
        parts.append(text)
    result = "" if asked.return_annotation is asked.empty else type_words(str(asked.return_annotation))
    return f"({', '.join(parts)})" + (f" -> {result}" if result not in ("", "None", "Any") else "")


def abilities(names: set[str]) -> Iterator[str]:
    """The operations of special methods, in a sentence."""
    able = [words for name, words in ABILITIES if name in names]
    if able:
        yield f"Works with {', '.join(able)}.\n"
    if "_repr_png_" in names:
        yield "Notebooks show it as a picture.\n"


def materials() -> Iterator[str]:
    """The laws by name."""
    laws = ", ".join(f"`{law}`" for law in sinew.materials.LAWS)
    yield "### sinew.materials\n"
    yield f"A function for each law, which makes a `Material`: {laws}. Their parameters: [material](scene.md#material).\n"
    yield "```python\n" + "\n".join(example(sinew.materials.__doc__)) + "\n```\n"


def example(text: Optional[str]) -> list[str]:
    """The indented block of a docstring."""
    block = [line for line in (text or "").splitlines() if line.startswith("    ")]
    return textwrap.dedent("\n".join(block)).splitlines()


def bridges() -> Iterator[str]:
    """Names of cells here and in other libraries."""
    yield "### Shapes of cells\n"
    yield "| here | meshio | VTK |\n|---|---|---|"
    for ours, theirs in sinew.bridges.MESHIO.items():
        yield f"| `{ours}` | `{theirs}` | {sinew.bridges.VTK.get(ours, 7 if ours == 'polygon' else '')} |"
    yield ""


def errors() -> Iterator[str]:
    """Exceptions with their base classes."""
    yield "## Exceptions\n"
    yield "| exception | derives from | attributes | meaning |\n|---|---|---|---|"
    for name in ERRORS:
        kind = getattr(sinew, name)
        bases = ", ".join(f"`{base.__name__}`" for base in kind.__bases__)
        attributes = ", ".join(f"`{attribute}`" for attribute in inspect.get_annotations(kind))
        yield f"| `{name}` | {bases} | {attributes} | {cell(inspect.getdoc(kind))} |"
    yield ""


def commands(call: str) -> Iterator[str]:
    """The command line as functions."""
    module = sinew.commands
    yield "## Commands\n"
    rest = (inspect.getdoc(module) or "").partition("\n\n")[2].partition("\n\n")[0]
    usage = re.sub(r"^Written from [^.]*`\. ", "", prose(rest))
    yield f"One function for each command of [the command line](cli.md), with the same options. {usage} A dict given to `set` replaces several values.\n"
    yield f"```python\nsinew.command{call}\n```\n"
    yield prose(inspect.getdoc(sinew.command)) + "\n"
    for name in module.__all__:
        if not name.startswith("bench_"):
            yield from command(name, getattr(module, name))
    yield "### Benchmarks\n"
    yield prose(inspect.getdoc(sinew.bench)) + "\n"
    yield "| function | what is measured | options |\n|---|---|---|"
    for name in module.__all__:
        if name.startswith("bench_"):
            words, options = described(getattr(module, name))
            yield f"| `{name}` | {cell(words)} | {', '.join(f'`{option}`' for option, _ in options)} |"
    yield ""


def command(name: str, function: Callable[..., Any]) -> Iterator[str]:
    """A command with its options."""
    words, options = described(function)
    places = [one.name for one in inspect.signature(function).parameters.values() if one.kind is not one.KEYWORD_ONLY]
    has_options = len(places) < len(options)
    result = type_words(str(inspect.signature(function).return_annotation))
    yield f"### {name}\n"
    yield f"```python\n{name}({', '.join(places + (['*', '…'] if has_options else []))}) -> {result}\n```\n"
    yield words + "\n"
    if options:
        yield "| parameter | meaning |\n|---|---|"
        for option, meaning in options:
            yield f"| `{option}` | {cell(meaning)} |"
        yield ""


def described(function: Callable[..., Any]) -> tuple[str, list[tuple[str, str]]]:
    """The sentence and the parameters of a command."""
    text = inspect.getdoc(function) or ""
    options = re.findall(r"^- ``(\w+)``: (.*)$", text, flags=re.MULTILINE)
    return prose(text.partition("\n\n")[0]), options


def prose(text: Optional[str]) -> str:
    """A docstring as Markdown: one line per paragraph, `name: meaning` as lists, Markdown's backquotes."""
    pieces = []
    for block in re.split(r"\n\s*\n", inspect.cleandoc(text or "")):
        lines = block.splitlines()
        if all(re.match(r"([a-z]\w*(, [a-z]\w*)*: |\s{4})", line) for line in lines):
            joined = re.sub(r"\n\s{4,}", " ", block)
            pieces.append("\n".join(re.sub(r"^([\w, ]+?): ", lambda found: f"- {names(found.group(1))}: ", line) for line in joined.splitlines()))
        elif all(re.match(r"(- |\s{2})", line) for line in lines):
            pieces.append(re.sub(r"\n\s{2,}", " ", block))
        else:
            pieces.append(" ".join(line.strip() for line in lines))
    return "\n\n".join(pieces).replace("``", "`").strip()


def names(text: str) -> str:
    """Names in backquotes."""
    return ", ".join(f"`{name}`" for name in text.split(", "))


def cell(text: Optional[str]) -> str:
    """Text for a table cell."""
    return prose(text).replace("\n\n", "<br>").replace("\n", " ").replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
