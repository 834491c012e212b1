"""What the service's interface leaves open: one named switch each, with the sandbox's default and its alternatives.

Nothing else in the sandbox decides such a question; programs under test should work under every value of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Unknown:
    """One open question: its name, what the sandbox does by default, and what else the service might do."""

    name: str
    default: str
    alternatives: tuple[str, ...]
    meaning: str

    @property
    def values(self) -> tuple[str, ...]:
        return (self.default, *self.alternatives)


UNKNOWNS = (
    Unknown(
        "http_status", "mirror", ("always_200",), "The HTTP status repeats the body's statusCode, or is always 200."
    ),
    Unknown("signature", "on", ("off",), "Whether X-Signature, X-Timestamp and X-Client-ID are checked."),
    Unknown("timestamp_window", "300", ("60", "900", "off"), "Seconds that X-Timestamp may be away from the clock."),
    Unknown("signature_error", "401", ("403",), "The statusCode of a request whose signature is not accepted."),
    Unknown("checkout_status_code", "200", ("201",), "The statusCode of an accepted POST /v1/checkout."),
    Unknown("conversion_refused", "400", ("403", "422"), "The statusCode when a pair's conversion is not enabled."),
    Unknown("unspecified_messages", "worded", ("empty",), "The message of errors whose wording is not given."),
    Unknown("absent_fields", "omitted", ("null",), "Record fields without a value are left out, or null."),
    Unknown("deposit_lifetime", "24h", ("15m", "checkout_end"), "How long after the pick a deposit's expiredAt is."),
    Unknown("deposit_after_expiry", "pending", ("expired", "failed", "cancelled"), "A pending deposit past expiredAt."),
    Unknown("late_payment", "completes", ("refused",), "A payment that arrives after the deposit's expiredAt."),
    Unknown("forced_status", "any", ("known",), "Which status strings PATCH /v1/deposit/{id} takes."),
    Unknown("forced_update_of_completed", "accepted", ("refused",), "PATCH on a deposit that is completed already."),
    Unknown("webhook_payload", "minimal", ("full",), "The deposit webhook holds orderId only, or the deposit too."),
    Unknown("webhook_retries", "on", ("off",), "Whether a webhook that was not answered with 2xx is sent again."),
    Unknown("limit_maximum", "100", ("1000", "25"), "The most items that one page of a list holds."),
    Unknown("limit_above_maximum", "clamped", ("refused",), "A limit above the maximum counts as it, or is a 400."),
    Unknown("pages_of_nothing", "1", ("0",), "The totalPages of a list without items."),
)


class UnknownError(ValueError):
    """A switch that does not exist, or a value it does not have."""


def choose(chosen: Mapping[str, str] | None = None) -> dict[str, str]:
    """Every switch with its value: the defaults, changed by `chosen`."""
    table = {unknown.name: unknown for unknown in UNKNOWNS}
    for name, value in (chosen or {}).items():
        _check(table, name, value)
    return {name: unknown.default for name, unknown in table.items()} | dict(chosen or {})


def _check(table: Mapping[str, Unknown], name: str, value: str) -> None:
    if name not in table:
        raise UnknownError(f"There is no unknown named {name!r}. The names are: {', '.join(table)}.")
    if value not in table[name].values:
        raise UnknownError(
            f"The unknown {name!r} has no value {value!r}. Its values are: {', '.join(table[name].values)}."
        )
