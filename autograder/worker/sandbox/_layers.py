"""The names of the layers, and what a hand-in could do where one is missing."""

from __future__ import annotations

PROCESS_GROUP = "process group"
RLIMITS = "rlimits"
OUTPUT = "output to files"
LANDLOCK = "landlock"
SPARE_UID = "spare uid"
SECCOMP = "seccomp"
# Around the server and all its children, and an extra: where it is missing, the others do its part.
BUBBLEWRAP = "bubblewrap"
BASIC = (PROCESS_GROUP, RLIMITS, OUTPUT)

# Root gives its capabilities up even where it cannot become another user.  `SPARE_UID` includes this.
CAPABILITIES = "no capabilities"

_WITHOUT = {
    PROCESS_GROUP: "what code that breaks out of a kernel starts could outlive its check",
    RLIMITS: "code that breaks out of a kernel could use up this machine's memory and disk",
    OUTPUT: "a kernel's process could hold up the grader by what it prints",
    LANDLOCK: (
        "code that breaks out of a kernel could read whatever file its user may read, solutions and other hand-ins "
        "among them, and write where its user may write"
    ),
    SPARE_UID: (
        "code that breaks out of a kernel runs as the user who grades, and the other layers alone keep it from this "
        "user's files and programs"
    ),
    SECCOMP: (
        "code that breaks out of a kernel could open network connections, start programs and use every system call of "
        "this kernel"
    ),
}


def sentence(layer: str, reason: str) -> str:
    """Why ``layer`` is missing, and what follows from it."""
    return f"{layer}: {reason}, so {_WITHOUT[layer]}."
