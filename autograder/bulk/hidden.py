"""Names that begin with a dot, beside hand-ins: passed over, and named if they may be somebody's."""

from __future__ import annotations

import re

_FILES = (".py", ".ipynb", ".zip")
# Hidden things that nobody handed in: of version control, editors and tools, of desktops, and the kit's own.
_TOOLS = re.compile(
    r"\._|\.(?:git|svn|hg|ipynb_checkpoints|vscode|idea|venv|attempts|fseventsd|cache|local|config)$"
    r"|\.(?:\w+_cache|Trash|Spotlight|TemporaryItems|DocumentRevisions)",
    re.IGNORECASE,
)


def is_perhaps_somebodys(name: str, is_folder: bool) -> bool:
    """Whether a hidden entry may be a hand-in: a student's id or login may begin with a dot."""
    return name.startswith(".") and not _TOOLS.match(name) and (is_folder or name.lower().endswith(_FILES))
