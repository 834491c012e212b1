"""`GET /inspector/requests`: the request log, and the page of one request."""

from __future__ import annotations

import re
from typing import Any

from flask import Response
from sqlalchemy import ColumnElement, Row, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.inspector.account_filter import read_filter
from flask_paycheckout.sandbox.inspector.blueprint import inspector, query_number, query_text, show, show_missing
from flask_paycheckout.sandbox.inspector.curl import curl_line
from flask_paycheckout.sandbox.inspector.signatures import explain
from flask_paycheckout.sandbox.levers.answers import answer
from flask_paycheckout.sandbox.levers.har import archive
from flask_paycheckout.sandbox.wire.request_log import LoggedRequest, logged_requests
from flask_paycheckout.sandbox.world.database import transaction

MAX_ROWS = 50
"""Requests on a page."""

_LOG = LoggedRequest
_LISTED = (_LOG.number, _LOG.at, _LOG.method, _LOG.target, _LOG.client_id, _LOG.account, _LOG.status, _LOG.fault)
_STATUS = re.compile(r"[1-5]([0-9][0-9]|xx)")
NO_ANSWER = "none"


@inspector.get("/inspector/requests")
def show_requests() -> Response:
    """Show requests, newest first, filtered by `?status=` (a number, `4xx` or `none`), `?path=` and `?before=`.

    `?account=` filters by the account whose signature or access token was accepted.
    """
    status, path, before = query_text("status").lower(), query_text("path"), query_number("before")
    is_wrong = bool(status) and status != NO_ANSWER and not _STATUS.fullmatch(status)
    conditions = [] if is_wrong else list(_conditions(status, path, before))
    with transaction() as session:
        accounts = read_filter(session)
        # By name: the log also holds calls of accounts that were removed.
        signed = [_LOG.account == accounts.name] if accounts.name else []
        found = [] if is_wrong else newest_requests(session, [*conditions, *signed])
    return show(
        "requests",
        400 if is_wrong else 200,
        found=found[:MAX_ROWS],
        has_older=len(found) > MAX_ROWS,
        wanted={"status": status, "path": path},
        accounts=accounts,
        is_wrong=is_wrong,
    )


def newest_requests(session: Session, conditions: list[ColumnElement[bool]]) -> list[Row[Any]]:
    """The newest requests without their bodies; one more than a page, to know whether there are older ones."""
    wanted = select(*_LISTED, _LOG.signed_string.is_not(None).label("rejected")).where(*conditions)
    return list(session.execute(wanted.order_by(_LOG.number.desc()).limit(MAX_ROWS + 1)))


def _conditions(status: str, path: str, before: int | None) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if status == NO_ANSWER:
        conditions.append(_LOG.status.is_(None))
    elif status.endswith("xx"):
        least = int(status[0]) * 100
        conditions.append(_LOG.status.between(least, least + 99))
    elif status:
        conditions.append(_LOG.status == int(status))
    if path:
        conditions.append(_LOG.target.contains(path, autoescape=True))
    if before is not None:
        conditions.append(_LOG.number < before)
    return conditions


@inspector.get("/inspector/requests.har")
def save_requests() -> Response:
    """The whole log, or that of `?account=`, as an HTTP Archive."""
    with transaction() as session:
        name = read_filter(session).name
        found = logged_requests(session, *([_LOG.account == name] if name else []))
        response = answer(archive(reversed(found)))
    response.headers["Content-Disposition"] = 'attachment; filename="sandbox.har"'
    return response


@inspector.get("/inspector/requests/<int(max=2147483647):number>")
def show_request(number: int) -> Response:
    with transaction() as session:
        entry = session.get(LoggedRequest, number)
        rejection = None if entry is None else explain(session, entry)
    return (
        show_missing("request")
        if entry is None
        else show("request", entry=entry, rejection=rejection, curl=curl_line(entry))
    )
