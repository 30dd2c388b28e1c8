"""``python -m autograder.worker FD DEVICE``: serve forks on the control socket that the pool handed down as FD."""

from __future__ import annotations

import socket
import sys

from autograder.worker.server import Server


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    Server(control, sys.argv[2]).serve()


if __name__ == "__main__":
    main()
