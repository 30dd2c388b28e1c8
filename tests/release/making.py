"""A course with solutions and a secret in a folder of its own, a stand-in for the wheel, and disguises of solutions."""

from __future__ import annotations

import ast
import io
import json
import re
import shutil
import textwrap
import zipfile
from pathlib import Path

from autograder import __version__
from autograder.catalogue import Course, load_course
from autograder.release.markers import find_regions

ROOT = Path(__file__).parents[2]
SECRET = bytes.fromhex("8f1d2c3b4a5968778695a4b3c2d1e0ff")
WHEEL = f"mini_flash_attention_kit-{__version__}-py3-none-any.whl"


def make_course(folder: Path) -> Course:
    """A copy of the real course with solutions and a secret, without assignments."""
    junk = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "course", folder / "course", ignore=junk)
    shutil.copytree(ROOT / "solutions", folder / "solutions", ignore=junk)
    (folder / "solutions" / ".secret").write_bytes(SECRET)
    return load_course(folder)


def make_zip(files: dict[str, bytes | str]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return stream.getvalue()


def make_wheel(
    extra: dict[str, bytes | str] | None = None, version: str = __version__, sources: str = "autograder/**/*.py"
) -> bytes:
    """A wheel with the package's own sources, as the build makes it, but without building."""
    files: dict[str, bytes | str] = {
        path.relative_to(ROOT).as_posix(): path.read_bytes() for path in sorted(ROOT.glob(sources))
    }
    files[f"mini_flash_attention_kit-{version}.dist-info/METADATA"] = f"Metadata-Version: 2.4\nVersion: {version}\n"
    return make_zip({**files, **(extra or {})})


def make_notebook(source: str = "1 + 1", output: str = "2") -> bytes:
    cell = {
        "cell_type": "code",
        "source": source.splitlines(keepends=True),
        "outputs": [{"output_type": "stream", "name": "stdout", "text": output.splitlines(keepends=True)}],
    }
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}).encode()


def regions(stub: str) -> list[str]:
    """The hidden code of each region of a solution."""
    text = (ROOT / "solutions" / stub).read_text(encoding="utf-8")
    return [textwrap.dedent("\n".join(region.hidden)) for region in find_regions(text, stub)]


def all_regions() -> list[str]:
    return [*regions("lesson7/one_shot_attention.py"), *regions("lesson7/flash_attention.py")]


def renamed(code: str) -> str:
    """The code with every variable renamed, and reformatted by the way."""

    class Rename(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.Name:
            keep = node.id in ("tl", "float")
            return ast.copy_location(ast.Name(node.id if keep else f"x_{node.id.lower()}", node.ctx), node)

    return ast.unparse(Rename().visit(ast.parse(code)))


def without_comments(code: str) -> str:
    return ast.unparse(ast.parse(code))


def indented(code: str) -> str:
    return "def answer():\n" + textwrap.indent(code, "        ")


def on_one_line(code: str) -> str:
    """The statements joined by ``;``, with as few blanks as Python allows."""
    body = ast.parse(code).body
    simple = "; ".join(ast.unparse(node) for node in body if not isinstance(node, ast.If))
    return re.sub(r" ?([=+*/,;<>&-]+) ?", r"\1", simple)


def wrapped(code: str) -> str:
    """Every bracket opens a line of its own, and blank lines and comments stand between."""
    return re.sub(r"\((?=.)", "(  # a\n    ", ast.unparse(ast.parse(code)).replace("\n", "\n\n"))


def commented_out(code: str) -> str:
    return textwrap.indent(code, "# ", lambda line: True)


DISGUISES = {
    "as it is": lambda code: code,
    "indented": indented,
    "without comments": without_comments,
    "renamed": renamed,
    "on one line": on_one_line,
    "wrapped": wrapped,
    "commented out": commented_out,
    "renamed and commented out": lambda code: commented_out(renamed(code)),
}
