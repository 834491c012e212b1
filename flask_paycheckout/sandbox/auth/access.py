"""Access to operations: by a client's signature, or by a user's access token, as each operation declares.

| declared credentials | operations                                                                                    |
|----------------------|-----------------------------------------------------------------------------------------------|
| `SIGNATURE`          | disbursement reads, crypto estimate, transfer proof, checkout, deposits, recipients, payments |
| `ACCESS_TOKEN`       | disbursement creates, fiat payment methods, the sandbox update of a disbursement              |
| `NONE`               | register, login, verify-login, references                                                     |

The interface's samples show these credentials; whether the service accepts others is the unknown `access_scheme`.

The signature is the lowercase hexadecimal HMAC-SHA256, keyed with the client secret, of four lines:
method, target (path and query exactly as sent), timestamp, and lowercase hexadecimal SHA-256 of the body.
The service's real formula is not shown; this one stands in for it. The unknown `signature_formula` has others: the same
in base64, and timestamp, dot and body in hexadecimal. The unknown `timestamp_unit` says how X-Timestamp is written.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import wraps
from typing import Any, get_type_hints
from urllib.parse import quote

from flask import Response, g, request
from sqlalchemy import bindparam, delete, or_, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.start_state import USER_ID
from flask_paycheckout.sandbox.auth.tables import AccessToken, digest_of
from flask_paycheckout.sandbox.wire.envelope import FieldError, Refusal, success, unspecified_refusal
from flask_paycheckout.sandbox.wire.operations import Credentials, Operation, mark, read_sent
from flask_paycheckout.sandbox.wire.request_log import LOSE_RESPONSE, log_request, masked
from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.assumptions import sign, string_to_sign
from flask_paycheckout.sandbox.world.context import assumption, current_time, world
from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.settings import new_secret

_SCHEME = "bearer "


def issue_token(session: Session, user_id: str, *, expires: bool) -> str:
    """Issue a new token for the account of this user. A token that does not expire can never be revoked."""
    now = current_time()
    session.execute(delete(AccessToken).where(AccessToken.expires_at <= now))
    token, lifetime = new_secret(session), timedelta(minutes=int(assumption("access_token_minutes")))
    expires_at = now + lifetime if expires else None
    session.add(AccessToken(token_digest=digest_of(token), user_id=user_id, expires_at=expires_at))
    return token


def _presented() -> str:
    """The token in the request's header, in the formats that the unknown `authorization_format` allows."""
    header = request.headers.get("Authorization", "")
    has_scheme = header[: len(_SCHEME)].lower() == _SCHEME
    allowed = assumption("authorization_format") in {"both", "bearer" if has_scheme else "raw"}
    return header[len(_SCHEME) * has_scheme :].strip() if allowed else ""


# Used when no account has the client id, so that the check takes as long as for an existing client.
_NO_SECRET = "no such client"  # noqa: S105
_TIMESTAMP_DIGITS = {"seconds": 12, "milliseconds": 15}


def sent_target() -> str:
    """Path and query as the client sent them, if the WSGI server gives them."""
    sent = request.environ.get("RAW_URI") or request.environ.get("REQUEST_URI")
    if isinstance(sent, str) and sent.startswith("/"):
        return sent
    path, query = request.environ.get("SCRIPT_NAME", "") + request.environ["PATH_INFO"], request.query_string.decode()
    with suppress(UnicodeError):
        # WSGI servers decode a path as Latin-1, and some in-process transports as UTF-8.
        path = path.encode("latin-1").decode()
    return quote(path, safe="/:@!$&'()*+,;=-._~") + (f"?{query}" if query else "")


_JSON = "application/json"
View = Callable[..., object]


def operation(
    *, after: Callable[[], object] | None = None, **declared: Any
) -> Callable[[View], Callable[..., Response]]:
    """Declare the operation that a view serves, and let the view say with its parameters what it needs.

        @checkouts.post("/v1/checkout")
        @operation(code="checkout_status_code", message="Checkout created successfully")
        def create_checkout(session: Session, account: Account, sent: NewCheckout) -> CheckoutLink:

    `session` is the transaction in which the call is logged too, so that the log has each call that had an effect, and
    `account` the caller's. `sent` is the body and `query` the query parameters, as the classes of their annotations.
    All other parameters are path variables. The view returns the answer's data, or None for an answer without data.

    :param after: called after the transaction of a call that succeeded.
    :param declared: fields of `Operation`.
    """

    def declare(view: View) -> Callable[..., Response]:
        hints = get_type_hints(view)
        returns = hints.pop("return")
        declaration = Operation(body=hints.get("sent"), query=hints.get("query"), returns=returns, **declared)

        @wraps(view)
        def respond(**of_path: str) -> Response:
            # A call that gets no answer is logged as such when the connection is dropped.
            has_answer = g.get("fault_kind") != LOSE_RESPONSE
            with transaction() as session:
                arguments = {"session": session, "account": check_access(session)} | _read(hints) | of_path
                response = _answer(declaration, view(**{name: arguments[name] for name in hints}))
                if has_answer:
                    log_request(response, session)
            if has_answer:
                g.logged = response
            if after is not None:
                after()
            return response

        return mark(respond, declaration)

    return declare


def _read(hints: dict[str, Any]) -> dict[str, Any]:
    if "sent" in hints and request.mimetype != _JSON:
        raise unspecified_refusal("content_type_error", f"The body must be sent with the Content-Type {_JSON}.")
    read = read_sent(hints)
    if g.undeclared and assumption("unknown_fields") == "refused":
        raise FieldError(f"{g.undeclared[0][:100]} is not a field of this request.")
    return read


def _answer(declared: Operation, result: object) -> Response:
    if isinstance(result, Response):
        return result
    return success(result, declared.message, declared.code_under(world().unknowns), declared.code_field)


def check_access(session: Session) -> Account | None:
    """The account whose credentials the request has, as its operation requires; None if it requires none.

    :raises Refusal: they are not accepted.
    """
    declared: Operation | None = g.operation
    if declared is None or declared.credentials is Credentials.NONE:
        return None
    if declared.client_id_alone and _may_be_unsigned():
        return _accepted(_client(session), _refused())
    credentials = declared.credentials
    if assumption("access_scheme") == "either":
        credentials = Credentials.ACCESS_TOKEN if "Authorization" in request.headers else Credentials.SIGNATURE
    return check_signature(session) if credentials is Credentials.SIGNATURE else check_access_token(session)


def _may_be_unsigned() -> bool:
    """Whether the client id alone is enough for a quote: a page in a browser has no secret to sign with."""
    with_limit = request.args.get("withLimit") == "true" and assumption("quote_credentials") == "client_id"
    proof = {"X-Signature", "Authorization"} & set(request.headers.keys())
    return with_limit and not proof and assumption("signature") == "on"


def find_caller(session: Session) -> str | None:
    """The user id of the account whose credentials an operation would accept now; None where none are valid or needed.

    For faults, which apply before the operation checks the caller."""
    try:
        account = check_access(session)
    except Refusal:
        return None
    return None if account is None else account.user_id


def check_access_token(session: Session) -> Account:
    """Check the access token of the current request, and return its user's account."""
    is_valid = or_(AccessToken.expires_at.is_(None), AccessToken.expires_at > current_time())
    token = _presented()
    of_login = select(AccessToken.user_id).where(AccessToken.token_digest == digest_of(token), is_valid)
    account = session.scalar(select(Account).where(or_(Account.access_token == token, Account.user_id.in_(of_login))))
    fault = "The Authorization header holds no valid access token. Log in for a new one."
    return _accepted(account, unspecified_refusal("access_token_error", fault))


def check_signature(session: Session) -> Account:
    """Check the signature of the current request, and return its client's account."""
    account, is_off = _client(session), assumption("signature") == "off"
    if account is None and is_off:
        account = session.get(Account, USER_ID)
    accepted = is_off or (_is_signed_with(account.client_secret if account else _NO_SECRET) and _is_timely())
    if not accepted:
        g.rejected_string = _string_to_sign(sent_target(), shown=True)
    return _accepted(account if accepted else None, _refused())


_OF_CLIENT = select(Account).where(Account.client_id == bindparam("client_id"))


def _client(session: Session) -> Account | None:
    """The account of the client id that the current request gives; None when there is none."""
    return session.scalar(_OF_CLIENT, {"client_id": request.headers.get("X-Client-ID", "")})


def _accepted(account: Account | None, refusal: Refusal) -> Account:
    """Return the account, and name it in the request log. :raises Refusal: the credentials fit no account."""
    if account is None:
        raise refusal
    g.account = account.name
    return account


def _is_signed_with(secret: str) -> bool:
    target, formula = sent_target(), assumption("signature_formula")
    sent = request.headers.get("X-Signature", "").encode()
    # A program may sign the target without the prefix of its world, which is part of the base URL.
    return any(
        hmac.compare_digest(sent, sign(secret, _string_to_sign(candidate), formula).encode())
        for candidate in {target, target.removeprefix(request.environ.get("SCRIPT_NAME", ""))}
    )


def _string_to_sign(target: str, *, shown: bool = False) -> str:
    """The string that the client should have signed; for the request log, a body in it has its secrets masked."""
    formula, body = assumption("signature_formula"), request.get_data()
    if shown and formula == "timestamp_and_body":
        body = masked(body).encode()
    return string_to_sign(request.method, target, request.headers.get("X-Timestamp", ""), body, formula)


def _is_timely() -> bool:
    window = assumption("timestamp_window")
    sent = _seconds(request.headers.get("X-Timestamp", ""))
    if sent is None:
        return False
    return window == "off" or any(abs(sent - now) <= int(window) for now in world().clock.timestamps())


def _seconds(timestamp: str) -> int | None:
    """The Unix time of a timestamp; None if it is not in the format of the unknown `timestamp_unit`."""
    unit = assumption("timestamp_unit")
    if unit != "iso8601":
        is_right = timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= _TIMESTAMP_DIGITS[unit]
        return int(timestamp) // (1000 if unit == "milliseconds" else 1) if is_right else None
    try:
        moment = datetime.fromisoformat(timestamp)
        return None if moment.tzinfo is None else int(moment.timestamp())
    except (ValueError, OverflowError):
        return None


def _refused() -> Refusal:
    """Refuse without saying which part was wrong; the request log tells the developer."""
    return unspecified_refusal("signature_error", "The signature, its timestamp or the client id is not valid.")
