"""The calls `/_sandbox/requests` and `/_sandbox/requests.har`: the request log as JSON and as an HTTP Archive."""

from __future__ import annotations

from flask import Blueprint, Response, request
from sqlalchemy import ColumnElement

from flask_paycheckout.sandbox.levers.answers import answer
from flask_paycheckout.sandbox.levers.har import archive
from flask_paycheckout.sandbox.wire.request_log import LoggedRequest, describe, logged_requests
from flask_paycheckout.sandbox.world.database import transaction

log = Blueprint("log", __name__)


@log.get("/requests")
def read_requests() -> Response:
    """The request log, newest first."""
    with transaction() as session:
        return answer([describe(entry) for entry in logged_requests(session, *_of_wanted_account())])


@log.get("/requests.har")
def read_archive() -> Response:
    """The request log as an HTTP Archive, oldest first."""
    with transaction() as session:
        return answer(archive(reversed(logged_requests(session, *_of_wanted_account()))))


def _of_wanted_account() -> list[ColumnElement[bool]]:
    # By the name that is in the log, which also finds calls of accounts that are gone.
    name = request.args.get("account")
    # PostgreSQL cannot compare NUL characters.
    return [] if name is None else [LoggedRequest.account == name.replace("\0", "")]
