"""A logged call as a line of curl."""

from __future__ import annotations

import shlex

from flask_paycheckout.sandbox.wire.request_log import LoggedRequest
from flask_paycheckout.sandbox.world.context import world


def curl_line(entry: LoggedRequest) -> str:
    """The shell command that repeats a call. Credentials are not in the log: variables of the shell stand for them."""
    method = ["--head"] if entry.method == "HEAD" else ["--request", shlex.quote(entry.method)]
    headers = [part for header in _headers(entry) for part in ("--header", header)]
    # Raw: a body that begins with @ is no name of a file.
    body = ["--data-raw", shlex.quote(entry.request_body)] if entry.request_body else []
    # The address is sent as it was: brackets and dots mean nothing to curl.
    address = shlex.quote(f"{world().base_url}{entry.target}")
    return " ".join(["curl", *method, *headers, *body, "--globoff", "--path-as-is", address])


def _headers(entry: LoggedRequest) -> list[str]:
    typed = ["'Content-Type: application/json'"] if entry.request_body else []
    if entry.client_id is None:
        return [*typed, '"Authorization: Bearer $ACCESS_TOKEN"']
    client = shlex.quote(f"X-Client-ID: {entry.client_id}")
    return [*typed, client, '"X-Timestamp: $TIMESTAMP"', '"X-Signature: $SIGNATURE"']
