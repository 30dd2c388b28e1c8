"""Reading a CSV that a person or another program made, whatever its line ends and separator are."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder.errors import UsageError, ended

_SEPARATORS = ",;\t"
_SAYS_SEPARATOR = re.compile(r'"?sep=(?P<separator>[^"\r\n])"?(?:\r\n|\r|\n|$)', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Line:
    """One row by column name, and the number of the line in the file on which it ends."""

    number: int
    cells: Mapping[str, str]


def read_sheet(path: Path, what: str) -> tuple[tuple[str, ...], tuple[Line, ...]]:
    """The columns' names and the rows of a CSV; ``what`` names the file in sentences, such as "The roster r.csv".

    Comma, semicolon and tab are understood, as are all line ends and Excel's first line ``sep=;``.  Empty lines and
    empty cells behind the last column are passed over.

    Raises:
        UsageError: it cannot be read, is not UTF-8, is no CSV, or a row has more cells than there are columns.
        FileNotFoundError: there is no such file.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UsageError(f"{what} cannot be read ({(error.strerror or str(error)).lower()}).") from None
    except UnicodeDecodeError:
        raise UsageError(f"{what} is not UTF-8. Save it as 'CSV UTF-8' and try again.") from None
    skipped, separator = 0, None
    if said := _SAYS_SEPARATOR.match(text):
        skipped, separator, text = 1, said["separator"], text[said.end() :]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator or _separator(text))
    columns: tuple[str, ...] = ()
    rows = []
    try:
        for cells in reader:
            if not cells:
                continue
            if not columns:
                columns = tuple(cells)
                continue
            number = reader.line_num + skipped
            if any(cell.strip() for cell in cells[len(columns) :]):
                raise UsageError(
                    f"{what}, line {number}: there are {len(cells)} cells, and only {len(columns)} columns. Put a cell "
                    'that holds a separator into quotes, as in "1,5".'
                )
            rows.append(Line(number, dict(zip(columns, cells, strict=False))))
    except csv.Error as error:
        raise UsageError(f"{what}, line {reader.line_num + skipped}, is no CSV: {ended(str(error))}") from None
    return columns, tuple(rows)


def _separator(text: str) -> str:
    """What stands most often in the first line that is not empty; spreadsheets of different countries differ."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return max(_SEPARATORS, key=first.count)
