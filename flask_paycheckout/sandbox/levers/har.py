"""The request log as an HTTP Archive (HAR 1.2), which browsers and other tools read.

Its calls and answers are those of the log: secrets are masked and long bodies are cut. The log has no headers but the
client id, and no durations; HAR requires both fields, so the headers are few and the durations 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from http.client import responses
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from urllib.parse import parse_qsl

from flask_paycheckout.sandbox.wire.envelope import iso
from flask_paycheckout.sandbox.wire.request_log import LoggedRequest
from flask_paycheckout.sandbox.world.context import world

_JSON, _PDF = "application/json", "application/pdf"
_UNKNOWN = -1


def archive(entries: Iterable[LoggedRequest]) -> dict[str, Any]:
    """Logged requests as an archive, in their order."""
    try:
        made_by = version("flask-paycheckout")
    except PackageNotFoundError:
        made_by = "unknown"
    creator = {"name": "flask_paycheckout sandbox", "version": made_by}
    return {"log": {"version": "1.2", "creator": creator, "entries": [_entry(entry) for entry in entries]}}


def _entry(entry: LoggedRequest) -> dict[str, Any]:
    own = {"_account": entry.account, "_fault": entry.fault, "_signedString": entry.signed_string}
    return {
        "startedDateTime": iso(entry.at),
        "time": 0,
        "request": _request(entry),
        "response": _response(entry),
        "cache": {},
        "timings": {"send": 0, "wait": 0, "receive": 0},
        "comment": "Without an answer" if entry.status is None else "",
        # Fields of our own begin with an underscore, as the format asks.
        **{name: value for name, value in own.items() if value is not None},
    }


def _request(entry: LoggedRequest) -> dict[str, Any]:
    shown = {
        "method": entry.method,
        "url": f"{world().base_url}{entry.target}",
        "headers": [] if entry.client_id is None else [{"name": "X-Client-ID", "value": entry.client_id}],
        "queryString": [
            {"name": name, "value": value}
            for name, value in parse_qsl(entry.target.partition("?")[2], keep_blank_values=True)
        ],
    }
    posted = {"postData": {"mimeType": _JSON, "text": entry.request_body}} if entry.request_body else {}
    return shown | posted | _common()


def _response(entry: LoggedRequest) -> dict[str, Any]:
    text = entry.answer_body
    media_type = _PDF if text.startswith(f"({_PDF}, ") else "text/html" if entry.fault == "garbage" else _JSON
    return {
        "status": entry.status or 0,
        "statusText": responses.get(entry.status or 0, ""),
        "headers": [],
        "content": {"size": len(text.encode()), "mimeType": media_type, "text": text},
        "redirectURL": "",
    } | _common()


def _common() -> dict[str, Any]:
    return {"httpVersion": "HTTP/1.1", "cookies": [], "headersSize": _UNKNOWN, "bodySize": _UNKNOWN}
