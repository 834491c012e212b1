"""`GET /v2/payments`, also at `/v2/payment`: every filter, the order and the pages."""

from __future__ import annotations

import pytest

from flask_paycheckout.sandbox.world.money import rows_of
from tests.sandbox.actors import Merchant, Tester
from tests.sandbox.disbursements.payers import RECIPIENTS, STELLAR_WALLET
from tests.sandbox.payments.customers import found, makes

# The filters of a list, and the numbers of the two payments that it then shows.
FILTERS = """
                                       | 12
search=example.ORG                     | 2
search=öz mÜ                           | 2
search=%                               |
status=pending                         | 2
status=processed                       | 1
status=failed                          |
reason=Rent                            | 1
minInputAmount=100.0000000000000000001 | 2
maxInputAmount=1499.99                 | 1
minInputAmount=99&maxInputAmount=101   | 1
minOutputAmount=99                     | 2
maxOutputAmount=1000                   | 1
organizationId=another                 |
organizationName=Sandbox               |
blockchain=stellar                     | 2
receiverName=ada EXAMPLE               | 1
blockchain=polygon&status=pending      |
"""


@pytest.fixture
def both(merchant: Merchant, tester: Tester) -> tuple[str, str]:
    """Two payments that differ in every filtered field; the first one is processed, the second one pending."""
    first = makes(merchant, reason="Rent", inputAmount=100)
    tester.advances(minutes=6)
    second = makes(
        merchant,
        **{"reason": "Wages", "inputAmount": 1500, "receiverId": RECIPIENTS["GBP"], "outputCurrency": "EUR"},
        **{"senderName": "Öz Müller", "senderEmail": "oz@example.org", "inputCurrency": "usdc-stellar"},
        walletAddress=STELLAR_WALLET,
    )
    return first, second


@pytest.mark.on_each_database
def test_a_filter_lets_through_what_it_names(merchant: Merchant, both: tuple[str, str]) -> None:
    for query, which in rows_of(FILTERS):
        filters = dict(pair.split("=") for pair in query.split("&") if pair)
        assert found(merchant, **filters) == [both[int(number) - 1] for number in which], query
