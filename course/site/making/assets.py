"""What pages carry besides their text: fonts, the style of formulas, and the playground's script."""

from __future__ import annotations

import shutil
from pathlib import Path

# Of each font one file for all weights, in the alphabets that the course is written in.
_FONTS = {
    "Inter Variable": ("inter", ("latin", "greek")),
    "JetBrains Mono Variable": ("jetbrains-mono", ("latin", "greek")),
}
_RANGES = {
    "latin": "U+0000-00FF,U+0131,U+0152-0153,U+02BB-02BC,U+02C6,U+02DA,U+02DC,U+2000-206F,U+20AC,U+2122,U+2191,"
    "U+2193,U+2212,U+2215,U+FEFF,U+FFFD",
    "greek": "U+0370-03FF",
}
_EXPORTS = "export "


def write_assets(site: Path, static: Path) -> None:
    """Copy fonts and scripts into the pages' static folder."""
    modules = site / "node_modules"
    shutil.copytree(modules / "katex" / "dist" / "fonts", static / "katex" / "fonts", dirs_exist_ok=True)
    for path in (static / "katex" / "fonts").iterdir():
        if path.suffix != ".woff2":  # every browser that knows custom elements reads woff2
            path.unlink()
    shutil.copy(modules / "katex" / "dist" / "katex.min.css", static / "katex" / "katex.min.css")
    (static / "fonts").mkdir(exist_ok=True)
    faces = []
    for family, (name, alphabets) in _FONTS.items():
        for alphabet in alphabets:
            file = f"{name}-{alphabet}-wght-normal.woff2"
            shutil.copy(modules / "@fontsource-variable" / name / "files" / file, static / "fonts" / file)
            faces.append(
                f"@font-face {{ font-family: '{family}'; font-style: normal; font-display: swap; "
                f"font-weight: 100 900; src: url(fonts/{file}) format('woff2'); unicode-range: {_RANGES[alphabet]}; }}"
            )
        package = modules / "@fontsource-variable" / name
        shutil.copy(package / "LICENSE", static / "fonts" / f"{name}-LICENSE.txt")
    (static / "fonts.css").write_text("\n".join(faces) + "\n", encoding="utf-8")
    module = (site.parent / "playground" / "attention-playground.js").read_text(encoding="utf-8")
    (static / "attention-playground.js").write_text(plain_script(module), encoding="utf-8")


def plain_script(module: str) -> str:
    """The playground as a script without exports: browsers load no modules from a folder (file://).

    Raises:
        ValueError: the module exports or imports in a form that this does not know.
    """
    lines = []
    for line in module.split("\n"):
        if line.startswith(("export default ", "export {")):
            continue
        lines.append(line.removeprefix(_EXPORTS))
    if left := [line for line in lines if line.startswith(("export", "import"))]:
        raise ValueError(f"The playground has a line that no plain script may have: {left[0]}")
    return "(() => {\n" + "\n".join(lines) + "\n})();\n"
