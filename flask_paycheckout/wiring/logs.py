"""The format of records of the logger `flask_paycheckout`, and a limit for repeated lines.

A temporary failure, such as a service that does not answer, is one line at WARNING; only an unexpected error has a
traceback, at ERROR. Every record has the fields in `FIELDS`, which JSON formatters show. Control characters in
untrusted text are escaped, so that it cannot forge lines.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec

from flask_paycheckout.client import PaymentsError
from flask_paycheckout.clock import Clock
from flask_paycheckout.database.database_errors import is_unavailable
from flask_paycheckout.per_process import Guarded
from flask_paycheckout.text import first_line, moment_text, visible

LOGGER = "flask_paycheckout"

FIELDS = ("order_id", "checkout_id", "reference", "account", "event_id", "left_out")
"""The fields of every record; None if a field does not apply. `left_out` counts lines that were not written."""

_HEALS = "paycheckout_heals"
_MAX_MESSAGE = 500
_MINUTE = timedelta(minutes=1)
# The maximum number of failures with separate lines in a minute; other accounts share one line of each kind.
_MOST_KEPT = 100
_OTHERS = "(other accounts)"

_log = logging.getLogger(LOGGER)


def about(
    order_id: str | None = None,
    checkout_id: str | None = None,
    account: str | None = None,
    *,
    reference: str | None = None,
    event_id: str | None = None,
    heals: bool = False,
) -> dict[str, Any]:
    """The fields of a log record, for `extra`.

    :param account: the merchant account's name; "" is the account of the settings.
    :param reference: the shop's reference of a payout or refund.
    :param heals: whether the failure is temporary regardless of its type, so that its traceback is left out.
    """
    facts = zip(FIELDS, (order_id, checkout_id, reference, account, event_id), strict=False)
    return {name: None if fact is None else visible(fact) for name, fact in facts} | {_HEALS: heals}


def prepare_logger() -> None:
    """Install the filter on our loggers; handlers, levels and formats stay as the shop configured them."""
    # A logger's filters do not apply to its children.
    for logger in (_log, _log.getChild("client")):
        if not any(isinstance(each, _Lines) for each in logger.filters):
            logger.addFilter(_Lines())


class _Written(msgspec.Struct):
    """The last line about a failure."""

    at: datetime
    left_out: int = 0
    """The number of lines that were not written since."""

    def limits(self, now: datetime) -> bool:
        """Whether it was written within the last minute; a time in the future means that the clock was set back."""
        return self.at <= now < self.at + _MINUTE


class FailureLog:
    """Logs failures of one app that may be very frequent: one line a minute of each kind.

    Accounts and error types are limited separately, so that a new error shows at once. The next line has the number of
    lines that were left out.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # By kind, account, and type of error.
        self._written: Guarded[dict[tuple[str, str, str], _Written]] = Guarded(dict)

    def warning(
        self, kind: str, message: str, *args: object, extra: Mapping[str, Any], error: BaseException | None = None
    ) -> None:
        """Log a line at WARNING, unless there was a line of its kind in the last minute.

        :param kind: names the failing action in the plural: "reads of deposits".
        :param extra: the fields, made by `about`.
        :param error: the error, whose type distinguishes the line; by default the error that is being handled.
        """
        self._write(logging.WARNING, kind, message, args, extra, error)

    def exception(
        self, kind: str, message: str, *args: object, extra: Mapping[str, Any], error: BaseException | None = None
    ) -> None:
        """Log an error with its traceback, or in one line at WARNING if it is expected; parameters as for `warning`."""
        self._write(logging.ERROR, kind, message, args, extra, error)

    def _write(
        self,
        level: int,
        kind: str,
        message: str,
        args: tuple[object, ...],
        extra: Mapping[str, Any],
        error: BaseException | None,
    ) -> None:
        error = error or sys.exc_info()[1]
        before = self._before(kind, extra.get("account") or "", type(error).__name__)
        if before is None:
            return
        if before.left_out:
            message += " (%d more like this since %s)"
            args = (*args, before.left_out, moment_text(before.at))
        fields = {**extra, "left_out": before.left_out or None}
        # The record names the caller of `warning` or `exception`.
        _log.log(level, message, *args, exc_info=error if level == logging.ERROR else None, extra=fields, stacklevel=3)

    def _before(self, kind: str, account: str, error: str) -> _Written | None:
        """The lines that were left out before this line; None if this line is left out too."""
        now = self._clock()
        with self._written.held() as lines:
            key = kind, account, error
            if key not in lines and len(lines) >= _MOST_KEPT:
                over = [entry for entry, last in lines.items() if not last.limits(now) and entry[1] != _OTHERS]
                for entry in over:
                    del lines[entry]
                if len(lines) >= _MOST_KEPT:
                    key = kind, _OTHERS, error
            before = lines.get(key)
            if before is not None and before.limits(now):
                before.left_out += 1
                return None
            lines[key] = _Written(now)
            return before or _Written(now)


class _Lines(logging.Filter):
    """Escapes control characters, shortens temporary failures, and gives each record all fields."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        heals = bool(record.__dict__.pop(_HEALS, False))
        for name in FIELDS:
            record.__dict__.setdefault(name, None)
        if isinstance(record.args, tuple):
            record.args = tuple(_safe(value) for value in record.args)
            # The service or the database is probably unavailable only for a while.
            if error is not None and (heals or isinstance(error, PaymentsError) or is_unavailable(error)):
                _shorten(record, record.args, error)
        return record.levelno >= logging.getLogger(record.name).getEffectiveLevel()


def _shorten(record: logging.LogRecord, args: tuple[object, ...], error: BaseException) -> None:
    record.msg = f"{record.msg}: %s"
    text = str(error) if isinstance(error, PaymentsError) else first_line(error)
    record.args = (*args, visible(" ".join(text.split()))[:_MAX_MESSAGE])
    record.exc_info = record.exc_text = None
    if record.levelno > logging.WARNING:
        record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)


def _safe(value: object) -> object:
    """Escape control characters in a value's text; numbers stay unchanged."""
    if isinstance(value, str):
        return visible(value)
    return visible(str(value)) if isinstance(value, BaseException) else value
