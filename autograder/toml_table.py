"""A TOML table that is checked while it is read: missing, left-over and ill-typed keys are one sentence each.

Standard library only.
"""

from __future__ import annotations

import tomllib
from datetime import datetime
from pathlib import Path
from typing import Any

from autograder.errors import CourseError, ended

_MOST = 1e12
_TIME = "2026-12-06T23:59:00+01:00"


class Table:
    """A TOML table that knows where it stands in its file, and complains about what is missing or left over."""

    def __init__(self, values: dict[str, Any], where: str) -> None:
        self._values = values
        self._where = where
        self._left = set(values)

    @classmethod
    def read(cls, path: Path) -> Table:
        try:
            return cls(tomllib.loads(path.read_text(encoding="utf-8")), str(path))
        except OSError as error:
            raise CourseError(f"{path} cannot be read ({error.strerror}).") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise CourseError(f"{path} is not valid TOML: {ended(str(error))}") from error
        except RecursionError:
            raise CourseError(f"{path} is not valid TOML: it is nested too deeply.") from None

    @property
    def where(self) -> str:
        """The file, and the place in it, as a sentence begins with it."""
        return self._where

    def names(self) -> tuple[str, ...]:
        return tuple(self._values)

    def finish(self) -> None:
        """Raises CourseError when a key was never asked for: it is a typing error."""
        if self._left:
            raise CourseError(f"{self._where}: unknown key {sorted(self._left)[0]!r}.")

    def text(self, key: str, default: str | None = None) -> str:
        value: str = self._get(key, str, default)
        return value

    def integer(self, key: str) -> int:
        value: int = self._get(key, int, None)
        return value

    def number(self, key: str, default: float | None = None) -> float:
        value = self._get(key, (int, float), default)
        if not abs(value) <= _MOST:  # nor is it NaN
            raise CourseError(f"{self._where}: {key!r} is not a number that can be used.")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        value: bool = self._get(key, bool, default)
        return value

    def time(self, key: str) -> datetime | None:
        """A time with its zone, such as ``2026-12-06T23:59:00+01:00``; None where there is no such key."""
        if key not in self._values:
            return None
        self._left.discard(key)
        value = self._values[key]
        if not isinstance(value, datetime):
            raise CourseError(f"{self._where}: {key!r} must be a time of a day, as in {key} = {_TIME}, without quotes.")
        if value.tzinfo is None:
            raise CourseError(f"{self._where}: {key!r} needs a time zone, as in {key} = {_TIME}.")
        return value

    def mapping(self, key: str, default: dict[str, Any] | None = None) -> dict[str, Any]:
        value: dict[str, Any] = self._get(key, dict, default)
        return value

    def table(self, key: str, default: dict[str, Any] | None = None) -> Table:
        return Table(self.mapping(key, default), f"{self._where}: [{key}]")

    def texts(self, key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        values = self._get(key, (list, tuple), default)
        if not all(isinstance(value, str) for value in values):
            raise CourseError(f"{self._where}: {key!r} must be a list of texts.")
        return tuple(values)

    def integers(self, key: str) -> tuple[int, ...]:
        values = self._get(key, list, None)
        if not all(isinstance(value, int) and not isinstance(value, bool) for value in values):
            raise CourseError(f"{self._where}: {key!r} must be a list of whole numbers.")
        return tuple(values)

    def tables(self, key: str) -> list[Table]:
        values = self._get(key, list, None)
        if not all(isinstance(value, dict) for value in values):
            raise CourseError(f"{self._where}: {key!r} must be a list of tables.")
        return [Table(value, f"{self._where}: [[{key}]] {number}") for number, value in enumerate(values, 1)]

    def value(self, key: str) -> int | float | bool | str:
        """A number, a flag or a text."""
        value: int | float | bool | str = self._get(key, (int, float, str) if not self._is_flag(key) else bool, None)
        return value

    def _is_flag(self, key: str) -> bool:
        return isinstance(self._values.get(key), bool)

    def choice(self, key: str, allowed: tuple[str, ...]) -> str:
        value = self.text(key)
        if value not in allowed:
            raise CourseError(f"{self._where}: {key!r} must be one of {', '.join(allowed)}.")
        return value

    def choices(self, key: str, allowed: tuple[str, ...]) -> tuple[str, ...]:
        values = self.texts(key, allowed)
        if not values or any(value not in allowed for value in values):
            raise CourseError(f"{self._where}: {key!r} must name some of {', '.join(allowed)}.")
        return values

    def _get(self, key: str, kind: type | tuple[type, ...], default: Any) -> Any:
        self._left.discard(key)
        value = self._values.get(key, default)
        if value is None:
            raise CourseError(f"{self._where}: the key {key!r} is missing.")
        wrong_bool = isinstance(value, bool) and kind is not bool
        if wrong_bool or not isinstance(value, kind):
            raise CourseError(f"{self._where}: {key!r} has the wrong type.")
        return value
