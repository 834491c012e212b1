"""One record of each kind, with every field of the service's interface; texts are invented."""

from __future__ import annotations

from typing import Any

from flask_paycheckout.client import FiatItem, PayoutBank
from tests.interface.test_interface import listed

AT = "2026-01-01T10:00:00.000Z"
_VALUES: dict[str, Any] = {"number": 1.25, "integer": 6, "boolean": True, "timestamp": AT}
_HIDDEN = {"accountNumber": "canary-account", "ibanNumber": "canary-iban"}


def record(operation: str, place: str = "data", **values: Any) -> dict[str, Any]:
    """A sample of an operation's answer at this place, with some given fields."""
    sample: dict[str, Any] = {}
    begin = f"{operation} gives {place}."
    for fact in sorted(listed()):
        field, _, kinds = fact.removeprefix(begin).partition(": ")
        kind = kinds.split(" | ")[-1]
        if not fact.startswith(begin) or kind in ("object", "array"):
            continue
        *above, name = field.replace("?", "").split(".")
        holder = sample
        for part in above:
            holder = holder.setdefault(part, {}) if "[]" not in part else holder.setdefault(part[:-2], [{}])[0]
        value = _VALUES.get(kind, _HIDDEN.get(name, f"some {name}".removesuffix("[]")))
        holder |= {name[:-2]: [value]} if "[]" in name else {name: value}
    return sample | values


DEPOSIT = record(
    "GET /v1/deposit/{depositId}",
    depositId="chk_1",
    status="completed",
    inputAmount=12.5,
    paymentCrypto={"network": "polygon", "hops": [1, {"a": None}]},
    expiredAt="2026-01-01T11:15:00+02:00",
)
LINK = record("POST /v1/checkout", id="chk_1", url="https://pay.example.com/checkout/chk_1")
USER = record(
    "POST /v1/auth/verify-login",
    "data.user",
    id="u1",
    name="Ann",
    otp_code="canary-otp",
    credentials={"key": "canary-credentials"},
)
FIAT = record("GET /v1/disbursement/fiat/{disbursementId}", disbursementId="d1", reference="ref-1", note="thanks")
BATCH = record("POST /v2/disbursement/fiat", disburseData=[FIAT])
FIAT_METHOD = record("GET /v1/disbursement/fiat/payment-method", "data[]")
CRYPTO_DISBURSEMENT = record("POST /v1/disbursement/crypto", "data.disburseData[]", amount=0.000000000000000001)
RECIPIENT = record("GET /v1/recipient/{id}", id="r1", name="Bo")
PAYMENT = record("POST /v2/payment", paymentId="p1")
PERSON: dict[str, Any] = {"name": "Bo", "email": "b@c.d", "address": "1 Rue", "city": "Lyon", "post_code": "69001"}
ACCOUNT = PayoutBank(bank_name="First", account_name="Bo", account_number="canary-12", bank_code="first_bank")
ITEMS = [FiatItem(amount=1, recipient_id="r1", reference="ref-1")]
QUOTE = record("GET /v2/payment/quote")
CURRENCY = record("GET /v1/reference/currencies", "data[]")
CRYPTO = record("GET /v1/reference/cryptos", "data[]")
BANK = record("GET /v1/reference/banks", "data.docs[]")
PAYMENT_METHOD = record("GET /v1/reference/payment-methods", "data[]")
