"""The call `/_sandbox/requests`: the request log."""

from __future__ import annotations

from flask import Blueprint, Response, request
from sqlalchemy import ColumnElement

from flask_paycheckout.sandbox.levers.answers import answer
from flask_paycheckout.sandbox.wire.request_log import LoggedRequest, describe, logged_requests
from flask_paycheckout.sandbox.world.database import transaction

log = Blueprint("log", __name__)


@log.get("/requests")
def read_requests() -> Response:
    """The request log, newest first."""
    with transaction() as session:
        return answer([describe(entry) for entry in logged_requests(session, *_of_wanted_account())])


def _of_wanted_account() -> list[ColumnElement[bool]]:
    # By the name that is in the log, which also finds calls of accounts that are gone.
    name = request.args.get("account")
    # PostgreSQL cannot compare NUL characters.
    return [] if name is None else [LoggedRequest.account == name.replace("\0", "")]
