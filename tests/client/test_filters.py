from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import pytest

from tests.client.samples import RECIPIENT
from tests.client.wire import Script, Shop, paged, success


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("use", "kind", "fault"),
    [
        (lambda c: c.recipients.list(limit=0), ValueError, "limit must be at least 1, not 0"),
        (lambda c: c.recipients.list(page=True), TypeError, "page must be a whole number, not bool"),
        (lambda c: c.references.banks(disbursment_available="yes"), TypeError, "must be True, False or None"),
        (lambda c: c.payments.list(min_input_amount=1.5), TypeError, "min_input_amount must be Decimal, int or str"),
        (lambda c: c.recipients.iterate(serach="Bo"), TypeError, "no argument 'serach'; there are limit, sort"),
        (lambda c: c.fiat_disbursements.payment_methods(5), TypeError, "currency must be a string, not int"),
        (lambda c: c.crypto_disbursements.estimate(5, 1), TypeError, "token must be a string, not int"),
        (lambda c: c.recipients.list(search="a" * 70_000), ValueError, "shorten the id or the filters"),
    ],
)
def test_a_wrong_filter_is_named_and_nothing_is_sent(
    use: Callable[[Any], object], kind: type[Exception], fault: str
) -> None:
    script = Script(success(paged(RECIPIENT)))
    with pytest.raises(kind, match=fault):
        use(Shop(script))
    assert script.requests == []


class Money(str, Enum):  # noqa: UP042 - a StrEnum is formatted by its value
    EUR = "EUR"


def test_a_member_of_an_enumeration_is_sent_by_its_value() -> None:
    script = Script(success(paged(RECIPIENT)))
    Shop(script).recipients.list(currency=Money.EUR)
    assert script.requests[0].url.query == b"currency=EUR"
