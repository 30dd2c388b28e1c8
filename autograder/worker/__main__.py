"""``python -m autograder.worker FD DEVICE [JSON]``: serve forks on the control socket that the pool handed down as FD.

With ``{"folders": [...]}``, the folders of the launch files, the server goes into bubblewrap if it can come up there;
``{"inside": ...}`` is what it is told there.
"""

from __future__ import annotations

import json
import socket
import sys

from autograder.worker.sandbox import Inside, supervise
from autograder.worker.server import Server


def main() -> None:
    descriptor, device, more = int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}
    if "folders" in more and (code := supervise(descriptor, device, more["folders"])) is not None:
        sys.exit(code)
    inside = Inside(**json.loads(more["inside"])) if "inside" in more else None
    if inside is not None:
        inside.begun()
    Server(socket.socket(fileno=descriptor), device, inside).serve()


if __name__ == "__main__":
    main()
