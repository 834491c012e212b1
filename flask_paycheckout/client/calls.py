"""One call from start to end: sign and send, read the envelope, try again, name what failed.

Resources state what they call and what they expect; everything that all calls share happens here, once.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

import msgspec

from flask_paycheckout.client.envelope import JsonObject, Unreadable, data_of
from flask_paycheckout.client.errors import OutcomeUnknown, TransportFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flask_paycheckout.client.operations import Operation
    from flask_paycheckout.client.records.reading import RecordReader
    from flask_paycheckout.client.retries import Retries
    from flask_paycheckout.client.transport import Answer, Transport

__all__ = ["Caller"]

R = TypeVar("R", bound=msgspec.Struct)

_encode = msgspec.json.Encoder().encode


class Caller:
    """Carries out operations for the resources of one client."""

    __slots__ = ("retries", "transport")

    def __init__(self, transport: Transport, retries: Retries) -> None:
        self.transport = transport
        self.retries = retries

    def record(
        self,
        operation: Operation,
        reader: RecordReader[R],
        *,
        ids: Mapping[str, str] | None = None,
        body: JsonObject | None = None,
        reference: str | None = None,
    ) -> R:
        """The record in the answer's `data`.

        :param ids: what stands in the path's places.
        :param body: the JSON object to send; amounts as `amounts.as_number` makes them.
        :param reference: what a lost call could be looked up by.
        :raises PaymentsError: see `errors`.
        """
        path = operation.path_for(**(ids or {}))
        sent = b"" if body is None else _encode(body)
        attempt = partial(self._attempt, operation, reader, path, sent, reference)
        return self.retries.run(attempt, repeatable=operation.repeatable)

    def _attempt(
        self, operation: Operation, reader: RecordReader[R], path: str, body: bytes, reference: str | None, left: float
    ) -> R:
        try:
            answer = self.transport.send(operation, path, body, left, self.retries.pace.wall())
            return _read(operation, reader, answer)
        except TransportFailed as failure:
            if not operation.may_move_money or not failure.request_sent:
                raise
            lost = OutcomeUnknown(failure.operation, failure.message, failure.retry_after, reference)
        raise lost


def _read(operation: Operation, reader: RecordReader[R], answer: Answer) -> R:
    """The record of an answer that says success."""
    try:
        return reader.read(data_of(str(operation), answer.body, answer.retry_after))
    except Unreadable as unreadable:
        why = f"{unreadable} (HTTP {answer.http_status})"
    raise TransportFailed(str(operation), why, answer.retry_after)
