"""Assumptions about what the service's interface leaves open: for each unknown a switch, with default and alternatives.

The code asks `assumption(name)` wherever the interface is silent. A program under test should work with every value.
At the end are the formulas of X-Signature and the forms of X-Timestamp, which two of the switches name.
"""

from __future__ import annotations

import hmac
import os
import re
import textwrap
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from hashlib import sha256


@dataclass(frozen=True)
class Assumption:
    """An open question: its name, the sandbox's default, and other possible behaviour of the service."""

    name: str
    default: str
    alternatives: tuple[str, ...]
    meaning: str
    group: str
    """The part of the service that it is about."""

    @property
    def values(self) -> tuple[str, ...]:
        return (self.default, *self.alternatives)


_TABLE = """
# Requests and answers
http_status = mirror | always_200
    The HTTP status repeats the body's statusCode, or is always 200.
field_error = 400 | 422
    The statusCode of a request with a field that is missing or wrong.
unusable_error = 400 | 404 | 422
    The statusCode of a field that is right by itself, but of no use: an unknown recipient, an amount no bank takes.
content_type_error = 415 | 400
    The statusCode of a body that is not sent as application/json.
rate_limit = off | 1000 | 300
    Calls that one client may make of a process in a minute; one more is refused with 429.
empty_strings = refused | absent
    An empty text in an optional field, or it counts as absent.
empty_query_values = refused | absent
    An optional query parameter without a value, such as ?search=.
unknown_fields = ignored | refused
    A field of a body, or a query parameter, that the operation does not have.
surplus_decimals = refused | rounded
    An amount with more decimals than its currency has, half rounds up.
text_filters = whole | part
    Filters of lists by id, country, reason and names compare the whole text, or look for a part; in any case.
unspecified_messages = worded | empty
    The message of errors whose wording is not given.
absent_fields = omitted | null
    Record fields without a value are left out, or null.
limit_maximum = 100 | 1000 | 25
    The most items that one page of a list holds.
limit_above_maximum = clamped | refused
    A limit above the maximum counts as it, or is a 400.
pages_of_nothing = 1 | 0
    The totalPages of a list without items.
id_format = hex24 | uuid | hex64
    New identifiers: 24 or 64 hexadecimal digits, or a UUID.

# Credentials
signature = on | off
    Whether X-Signature, X-Timestamp and X-Client-ID are checked.
timestamp_window = 300 | 60 | 900 | off
    Seconds that X-Timestamp may be away from the clock.
signature_formula = request | request_base64 | timestamp_and_body
    What is signed: method, target, timestamp and body's digest, in hex or base64; or timestamp, dot and body.
timestamp_unit = seconds | milliseconds | iso8601
    How X-Timestamp is written: Unix time, or as a date.
signature_error = 401 | 403
    The statusCode of a request whose signature is not accepted.
access_scheme = as_shown | either
    Credentials an operation takes: those shown, or either kind.
authorization_format = both | bearer | raw
    Authorization is Bearer <token>, or the token alone.
access_token_error = 401 | 403
    The statusCode for a missing, wrong or expired access token.
access_token_minutes = 1440 | 60 | 10080
    Minutes that an access token lives unless told not to.

# Registration and login
wrong_password_error = 401 | 400 | 403
    The statusCode for a wrong password or unknown address.
wrong_otp_error = 401 | 400 | 403
    The statusCode for a wrong one-time password.
verification_token_error = 401 | 400 | 410
    The statusCode for an unusable verification token.
email_taken_error = 409 | 400 | 422
    The statusCode of registering an e-mail address again.
register_status_code = 200 | 201
    The statusCode of an accepted POST /v1/auth/register.

# Checkouts and deposits
checkout_status_code = 200 | 201
    The statusCode of an accepted POST /v1/checkout.
conversion_refused = 400 | 403 | 404 | 422
    The statusCode when a pair's conversion is not enabled.
deposit_type = checkout | method
    A deposit's depositType: always checkout, or the method's group.
payment_crypto = transfer | wallet | empty
    A deposit's paymentCrypto: token, network, address and amount; wallet and blockchain instead; or no field.
deposit_fee = included | billed
    Whether the fee is taken from what a deposit of a fixed inputAmount brings, or billed apart from it.
deposit_lifetime = 24h | 15m | checkout_end
    How long after the pick a deposit's expiredAt is.
deposit_after_expiry = pending | expired | failed | cancelled
    A pending deposit past expiredAt.
deposit_after_refusal = failed | rejected | cancelled
    A pending deposit whose payment the bank refuses.
deposit_failure_webhook = none | sent
    Whether a deposit that the bank refuses, or that expires, sends the deposit webhook.
late_payment = completes | refused
    A payment that arrives after the deposit's expiredAt.
forced_status = any | known
    Which status strings PATCH /v1/deposit/{id} takes.
forced_update_of_completed = accepted | refused
    PATCH on a deposit that is completed already.

# Disbursements
disbursement_status_code = 200 | 201
    The statusCode of an accepted disbursement create.
batch_maximum = 1000 | 500 | 100
    How many items one disbursement create takes.
reference_scope = account | kind | service
    Where a disbursement's reference is used once: in an account, there for fiat and crypto apart, or in all accounts.
reference_error = 400 | 409 | 422
    The statusCode of a disbursement whose reference was used.
known_reference = refused | idempotent
    A disbursement with a reference that was used: refused, or the same one again if nothing differs.
fiat_list = paged | array | record
    GET /v1/disbursement/fiat answers a paged envelope, the page as an array, or the page's first record alone.
activity_updated_at = timestamp | object
    The updatedAt in a disbursement's activityHistory: a time, or an object with the time as $date.
report_of_unfinished = 400 | 404 | 409
    The statusCode of a proof asked for before completion.
disbursement_not_found = 404 | 400
    The statusCode of reading a disbursement that does not exist.
estimate_amount = integer | decimal
    Whether the crypto estimate takes fractions of a token.
disbursement_progress = forced | completed | failed
    A disbursement pending for ten minutes.
disbursement_progress_webhook = none | sent
    Whether a move by itself, or by the bank, sends the webhook.
disbursement_webhook = minimal | full
    The disbursement webhook holds id and status, or all of it.
forced_disbursement_status = known | any | completed
    Which statuses PATCH /v1/disbursement/{id} takes.
forced_update_of_settled = accepted | refused
    PATCH on a disbursement that is not pending any more.

# Webhooks
webhook_payload = minimal | full
    The deposit webhook holds orderId only, or the deposit too.
webhook_signature = none | body | timestamp_and_body
    Whether webhooks have X-Signature, keyed with the client secret, over the body or X-Timestamp, dot and body.
webhook_headers = plain | event
    Whether webhooks tell event, id and attempt in X-Webhook- headers.
webhook_retries = on | off
    Whether a webhook that was not answered with 2xx is sent again.

# Recipients
recipient_status_code = 200 | 201
    The statusCode of an accepted POST /v1/recipient.
recipient_not_found = 404 | 400
    The statusCode for a recipient that does not exist.
recipient_changes = ignored | refused | applied
    PATCH with changes of more than the name.
recipient_delete = both | path | query
    DELETE /v1/recipient/{id}, DELETE /v1/recipient?id=, or both.
recipient_search = substring | prefix | exact
    How search compares with name and e-mail address.
account_number_type = number | string
    How answers write an accountNumber that reads as a number.

# Payments and references, deprecated
quote_credentials = client_id | signature
    What a quote with withLimit=true asks for, at least.
quote_without_limit_flag = pure | limited
    A quote that says nothing about withLimit.
quote_above_daily_limit = status_false | refused
    A quote above the daily limit, or a refusal.
payments_path = both | payments | payment
    The list of payments: GET /v2/payments, GET /v2/payment, or both.
transaction_hash = empty | null
    A payment's transactionHash until there is one: an empty text, or null.
onramp_payments = accepted | refused
    POST /v2/payment from a currency to a token, an onramp payment.
payment_progress = completed | processed | failed | pending
    What a payment becomes by itself: processed after 5 minutes, then completed or failed after 10.
payment_not_found = 404 | 400
    The statusCode for a payment that does not exist.
bank_pages = numbered | first
    GET /v1/reference/banks takes a page, which the interface does not name there, or always answers the first one.
"""
"""By group: name and values, the default first, and the meaning, as `--list-unknowns` prints them."""
_ENTRY = re.compile(r"^# (?P<group>.+)$|^(?P<name>\w+) = (?P<values>.+)\n    (?P<meaning>.+)$", re.MULTILINE)


def _read(table: str) -> Iterator[Assumption]:
    group = ""
    for entry in _ENTRY.finditer(table):
        group = entry["group"] or group
        if entry["name"]:
            default, *alternatives = entry["values"].split(" | ")
            yield Assumption(entry["name"], default, tuple(alternatives), entry["meaning"], group)


ASSUMPTIONS = tuple(_read(_TABLE))


def assumptions_as_text(indent: str = "") -> str:
    """All switches as text: a line with name and values, the default first, and a line with the meaning."""
    return textwrap.indent(_TABLE.strip("\n"), indent)


UNKNOWNS_VARIABLE = "SANDBOX_UNKNOWNS"
"""The environment variable with values of switches: `NAME=VALUE`, separated by blanks."""


def unknowns_of_environment() -> dict[str, str]:
    """The values of switches from the environment."""
    return {
        name: value
        for name, _, value in (entry.partition("=") for entry in os.environ.get(UNKNOWNS_VARIABLE, "").split())
    }


class AssumptionError(ValueError):
    """There is no such switch, or it has no such value."""


_VALUES = {unknown.name: unknown.values for unknown in ASSUMPTIONS}


def choose(chosen: Mapping[str, str]) -> dict[str, str]:
    """All switches with their values: from `chosen`, else the defaults."""
    for name, value in chosen.items():
        if name not in _VALUES:
            similar = did_you_mean(name, _VALUES)
            raise AssumptionError(f"There is no unknown named {name!r}.{similar} The names are: {', '.join(_VALUES)}.")
        if value not in _VALUES[name]:
            raise AssumptionError(
                f"The unknown {name!r} has no value {value!r}. Its values are: {', '.join(_VALUES[name])}."
            )
    return {unknown.name: unknown.default for unknown in ASSUMPTIONS} | dict(chosen)


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """A sentence that suggests words similar to an unknown word; empty if there are none."""
    similar = get_close_matches(word, list(words))
    return f" Did you mean {' or '.join(similar)}?" if similar else ""


class Switches(dict[str, str]):
    """The values in force, by name.

    The database holds the changes; this object holds the values as last read, so that a lookup takes no query.

    :param chosen: values chosen at the start; the others have their defaults.
    :raises AssumptionError: there is no such unknown, or it has no such value.
    """

    def __init__(self, chosen: Mapping[str, str]) -> None:
        self.started_with = choose(chosen)
        """The values to which a reset returns."""
        super().__init__(self.started_with)

    def take(self, changes: Mapping[str, str]) -> None:
        """Apply the changes since the start, except names and values that this version does not know."""
        valid = {name: value for name, value in changes.items() if value in _VALUES.get(name, ())}
        # Updated in place, because other threads read it at the same time and must find every name.
        self.update(self.started_with | valid)


def string_to_sign(method: str, target: str, timestamp: str, body: bytes, formula: str = "request") -> str:
    """The parts of a request that a formula signs, named as the values of the unknown `signature_formula`."""
    if formula == "timestamp_and_body":
        return f"{timestamp}.{body.decode(errors='surrogateescape')}"
    return "\n".join((method, target, timestamp, sha256(body).hexdigest()))


def sign(secret: str, text: str, formula: str = "request") -> str:
    digest = hmac.new(secret.encode(), text.encode(errors="surrogateescape"), sha256)
    if formula == "request_base64":
        return b64encode(digest.digest()).decode()
    return digest.hexdigest()


def timestamp_of(seconds: float, unit: str) -> str:
    """A time as the unknown `timestamp_unit` writes it."""
    if unit == "iso8601":
        return datetime.fromtimestamp(int(seconds), UTC).isoformat()
    return str(int(seconds) * (1000 if unit == "milliseconds" else 1))
