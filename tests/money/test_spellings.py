"""One sum of money in many spellings, case by case: what is the same, what is not, and what nobody can tell."""

from __future__ import annotations

import pytest

from tests.money.cases import Case
from tests.money.oracle import Asked, Outcome, judge
from tests.money.test_pairs import Reader
from tests.scripted import Shop

ASKED = Asked("chk-1", "input", 1250, "USD", 2)


def paying(amount: str, *more: str) -> Case:
    """An answer in which the customer paid this JSON number of USD."""
    members = ['"depositId":"chk-1"', '"status":"completed"', '"inputCurrency":"USD"', f'"inputAmount":{amount}', *more]
    return Case(ASKED, f'{{"statusCode":200,"message":"ok","data":{{{",".join(members)}}}}}'.encode(), ())


AMOUNTS = [
    pytest.param("12.50", Outcome.PAID, id="as asked"),
    pytest.param("1.25e1", Outcome.PAID, id="with an exponent"),
    pytest.param("12.500000000000000000001", Outcome.HELD, id="more by what a float would lose"),
    pytest.param("12.499999999999999999999", Outcome.HELD, id="less by what a float would lose"),
    pytest.param("12.51", Outcome.HELD, id="a cent more"),
    pytest.param("1250", Outcome.HELD, id="in cents"),
    pytest.param("1e400", Outcome.HELD, id="a float's infinity"),
    pytest.param("NaN", Outcome.HELD, id="not a number"),
    pytest.param('"12.50"', Outcome.HELD, id="a string"),
    pytest.param('12.50,"inputAmount":1', Outcome.UNREAD, id="said twice, right first"),
    pytest.param("012.50", Outcome.UNREAD, id="no JSON number"),
]


@pytest.mark.parametrize(("amount", "outcome"), AMOUNTS)
def test_each_spelling(amount: str, outcome: Outcome) -> None:
    case = paying(amount)
    assert (judge(case.asked, case.body), Reader().concludes(case, 200)) == (outcome, outcome)


@pytest.mark.parametrize(
    "amount",
    ["12.5" + "0" * 120, "125" + "0" * 120 + "e-121", "9" * 5000, "1e" + "9" * 18, "12.50e" + "0" * 4000],
    ids=["zeros behind", "zeros and an exponent", "digits", "exponent", "digits of the exponent"],
)
def test_a_number_too_long_to_be_money_is_held_for_a_person(shop: Shop, amount: str) -> None:
    """Not believed, though some of them are 12.50, and not lost either."""
    checkout_id = shop.starts()
    shop.service.deposits[checkout_id] = paying(amount).body
    assert shop.settles(checkout_id).status == "held"
