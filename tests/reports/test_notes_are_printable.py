"""Notes of ``course report`` and ``course feedback``: names from a roster are shown, and do nothing to a terminal."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from autograder.cli._feedback import feedback, report
from tests.reports.made import ROOT, write_class


@pytest.mark.parametrize("command", [feedback, report])
def test_no_name_moves_the_cursor_or_forges_a_line(tmp_path: Path, command: click.Command) -> None:
    write_class(tmp_path)
    roster = tmp_path / "r.csv"
    roster.write_text('name\n"Z\x1b[41med\x1b]0;pwn\x07"\n"x\nNote: forged"\n')
    done = CliRunner().invoke(command, [str(tmp_path), "--roster", str(roster), "--root", str(ROOT)])
    assert done.exit_code == 0, done.exception
    assert all(line.isprintable() for line in done.stderr.split("\n"))
    assert "Z\ufffd[41med" in done.stderr
    assert "Note: forged" not in done.stderr.split("\n")
