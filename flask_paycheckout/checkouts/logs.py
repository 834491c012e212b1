"""The format of records of the logger `flask_paycheckout`.

A failure that is expected to pass, such as a service that does not answer, is one line at WARNING; only an unexpected
error has a traceback, at ERROR. Records about a checkout or payout have the fields `order_id`, `checkout_id` and
`account`. Control characters in untrusted text are escaped, so that it cannot forge lines.
"""

from __future__ import annotations

import logging
from typing import Any

from sqlalchemy.exc import InterfaceError, OperationalError

from flask_paycheckout.client import PaymentsError
from flask_paycheckout.rules.text import visible
from flask_paycheckout.store.database_errors import first_line, is_passing

__all__ = ["LOGGER", "about", "prepare_logger"]

LOGGER = "flask_paycheckout"

_HEALS = "paycheckout_heals"
_MAX_MESSAGE = 500


def about(
    order_id: str | None = None, checkout_id: str | None = None, account: str | None = None, *, heals: bool = False
) -> dict[str, Any]:
    """The fields of a log record, for `extra`.

    :param account: the merchant account's name; "" is the one of the settings.
    :param heals: whether the failure is expected to pass, whatever its type, so that its traceback is left out.
    """
    fields: dict[str, Any] = {"order_id": order_id, "checkout_id": checkout_id, "account": account, _HEALS: heals}
    return {name: visible(field) if isinstance(field, str) else field for name, field in fields.items()}


def prepare_logger() -> None:
    """Install the filter on our logger; handlers, levels and formats stay as the shop configured them."""
    logger = logging.getLogger(LOGGER)
    if not any(isinstance(one, _Lines) for one in logger.filters):
        logger.addFilter(_Lines())


class _Lines(logging.Filter):
    """Escapes control characters, and shortens failures that are expected to pass."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if isinstance(record.args, tuple):
            record.args = tuple(_safe(value) for value in record.args)
            if error is not None and (getattr(record, _HEALS, False) or _heals(error)):
                _shorten(record, error)
        return record.levelno >= logging.getLogger(record.name).getEffectiveLevel()


def _shorten(record: logging.LogRecord, error: BaseException) -> None:
    record.msg = f"{record.msg}: %s"
    record.args = (*_tuple(record.args), _message(error))
    record.exc_info = record.exc_text = None
    if record.levelno > logging.WARNING:
        record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)


def _tuple(args: Any) -> tuple[Any, ...]:
    return args if isinstance(args, tuple) else ()


def _heals(error: BaseException) -> bool:
    """Whether the service or the database is probably unavailable for a while only."""
    return isinstance(error, (PaymentsError, OperationalError, InterfaceError)) or is_passing(error)


def _message(error: BaseException) -> str:
    text = str(error) if isinstance(error, PaymentsError) else first_line(error)
    return visible(" ".join(text.split()))[:_MAX_MESSAGE]


def _safe(value: object) -> object:
    """Escape control characters in a value's text; numbers stay unchanged."""
    if isinstance(value, str):
        return visible(value)
    return visible(str(value)) if isinstance(value, BaseException) else value
