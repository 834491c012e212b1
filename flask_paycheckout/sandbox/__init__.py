"""The payments service, for development, tests and demos: stateful, on a real database, on your machine.

`create_sandbox()` builds one world per call as a Flask application; `python -m flask_paycheckout.sandbox` serves one.
The package imports nothing else of flask_paycheckout, so that it and the client can contradict each other.

Wire conventions of the service (paths below /v1 and /v2):

Envelope
    Success is `{"statusCode": int, "message": str, "data": object|array}`. The number in the body decides; whether
    the HTTP status repeats it is the unknown `http_status`. Amounts are exact JSON numbers, timestamps ISO 8601 in
    UTC, identifiers opaque strings. Request bodies are JSON objects of at most 1 MiB.
Errors
    `{"statusCode": int, "error": str, "message": str}`. Wording that the interface does not give can be emptied
    with the unknown `unspecified_messages`.
Authentication
    Signed operations carry `X-Client-ID`, `X-Timestamp` (Unix seconds) and `X-Signature`; see `access.py` for the
    formula and for the table of which operation asks for what. Operations guarded by an access token carry
    `Authorization: Bearer <token>`. A token is got in two steps: register or login mails a one-time password and
    answers a verification token, verify-login exchanges both. Login and verify-login say `status` for `statusCode`.
Paging
    Lists answer `docs`, `totalDocs`, `offset`, `limit`, `totalPages`, `page`, `pagingCounter`, `hasPrevPage`,
    `hasNextPage`, `prevPage` and `nextPage` in `data`; ten items a page unless `limit` says otherwise,
    sorted by `sort` (`createdAt` or `updatedAt`, reversed by a leading `-`). See `paging.py`.

The tester's levers live below `/_sandbox/` (see `control.py`), the pages for people at `/` and `/checkout/<id>`.

What the interface leaves open is a switch each: `--unknown NAME=VALUE`, or `create_sandbox(unknowns={NAME: VALUE})`.
These are their names with their values, the default first, and their meanings:

"""

from __future__ import annotations

from flask_paycheckout.sandbox.app import create_sandbox
from flask_paycheckout.sandbox.wire.connection import ConnectionDropped
from flask_paycheckout.sandbox.world.assumptions import assumptions_as_text
from flask_paycheckout.sandbox.world.context import sandbox_clock

# Written from the one table, for `pydoc` and `help()`; without docstrings (python -OO) there is nothing to add to.
if __doc__ is not None:
    __doc__ += assumptions_as_text("    ") + "\n"

__all__ = ["ConnectionDropped", "create_sandbox", "sandbox_clock"]
