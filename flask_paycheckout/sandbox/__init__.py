"""The payments service, for development, tests and demos: stateful, on a real database, on your machine.

`create_sandbox()` builds an independent service per call, as a Flask application, and
`python -m flask_paycheckout.sandbox` serves one. It shares no code with the client, so that tests of
one against the other reveal mistakes in both.

Wire conventions of the service (paths below /v1 and /v2):

Envelope
    Success is `{"statusCode": int, "message": str, "data": object|array}`. The number in the body decides; whether
    the HTTP status repeats it is the unknown `http_status`. Amounts are exact JSON numbers, timestamps ISO 8601 in
    UTC, identifiers opaque strings. Request bodies are JSON objects of at most 1 MiB.
Errors
    `{"statusCode": int, "error": str, "message": str}`. Wording that the interface does not give can be emptied
    with the unknown `unspecified_messages`.
Authentication
    Signed operations carry `X-Client-ID`, `X-Timestamp` (Unix seconds) and `X-Signature`; `auth/access.py`
    has the formula, and the table of the credentials that each operation requires. Operations that require an access
    token carry `Authorization: Bearer <token>`. A client gets a token in two steps: register or login mails a one-time
    password and answers a verification token; verify-login exchanges both for an access token. In the answers of login
    and verify-login `statusCode` is called `status`.
Paging
    Lists answer `docs`, `totalDocs`, `offset`, `limit`, `totalPages`, `page`, `pagingCounter`, `hasPrevPage`,
    `hasNextPage`, `prevPage` and `nextPage` in `data`; ten items a page unless `limit` says otherwise,
    sorted by `sort` (`createdAt` or `updatedAt`, reversed by a leading `-`). See `wire/paging.py`.

Tests control a sandbox through the calls below `/_sandbox/` (see `control/calls.py`). The inspector for people is at
`/`, the hosted page of a checkout at `/checkout/<id>`.

Each question that the service's interface leaves open is a switch, called an unknown. It is set by
`--unknown NAME=VALUE` or `create_sandbox(unknowns={NAME: VALUE})`. The names, with their values, defaults first, and
their meanings:

"""

from __future__ import annotations

from flask_paycheckout.sandbox.app import create_sandbox
from flask_paycheckout.sandbox.wire.connection import ConnectionDropped
from flask_paycheckout.sandbox.world.assumptions import assumptions_as_text
from flask_paycheckout.sandbox.world.context import sandbox_clock

# Generated for `pydoc` and `help()`. Under `python -OO` there is no docstring to add to.
if __doc__ is not None:
    __doc__ += assumptions_as_text("    ") + "\n"

__all__ = ["ConnectionDropped", "create_sandbox", "sandbox_clock"]
