"""The calls `/_sandbox/snapshot` and `/_sandbox/restore`: the whole state as a file, and back."""

from __future__ import annotations

from flask import Blueprint, Response, request
from werkzeug.exceptions import RequestEntityTooLarge

from flask_paycheckout.sandbox.levers.answers import answer
from flask_paycheckout.sandbox.levers.snapshots import (
    MAX_BYTES,
    SnapshotRefused,
    SnapshotTooLarge,
    restore_snapshot,
    take_snapshot,
)
from flask_paycheckout.sandbox.wire.callers import CallRefused
from flask_paycheckout.sandbox.wire.envelope import iso
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import transaction

RESTORE = "restore"
"""The path of the call that takes a snapshot, below that of the control interface."""

snapshots = Blueprint("snapshots", __name__)
_LIMIT = f"larger than {MAX_BYTES // 1024**2} MiB"


@snapshots.get("/snapshot")
def take() -> Response:
    """The whole state as a file, with the secrets of the sandbox."""
    try:
        with transaction(exclusive=True) as session:
            content = take_snapshot(session, world())
    except SnapshotTooLarge:
        remedy = "Remove accounts that you do not need, or copy the database with its own tools."
        raise CallRefused(409, "snapshot", f"would be {_LIMIT}", remedy) from None
    return Response(content, content_type="application/json")


@snapshots.post(f"/{RESTORE}")
def restore() -> Response:
    """Return to the state of the file in the body; when it is refused, nothing changes."""
    request.max_content_length = MAX_BYTES
    try:
        content = request.get_data()
    except RequestEntityTooLarge:
        raise CallRefused(413, "snapshot", f"is {_LIMIT}", "Send the file that GET /_sandbox/snapshot gave.") from None
    try:
        with transaction(exclusive=True) as session:
            restore_snapshot(session, world(), content)
    except SnapshotRefused as refused:
        remedy = "Send the whole file as it was taken, by a sandbox of this version; nothing was changed."
        raise CallRefused(400, "snapshot", str(refused), remedy) from None
    clock = world().clock
    return answer({"now": iso(clock.now()), "offsetSeconds": clock.offset.total_seconds()})
