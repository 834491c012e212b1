"""The money verdict, held against a second one that knows only integers and strings."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flask_paycheckout.client import Deposit
from flask_paycheckout.client.envelope import data_of
from flask_paycheckout.client.records.reading import RecordReader
from flask_paycheckout.totals import Pay, Receive, Total
from flask_paycheckout.verdict import compare, order_disagreement

CURRENCIES = {"USD": 2, "EUR": 2, "JPY": 0, "KWD": 3, "usdc-polygon": 18, "eth-mainnet": 18}
_reader = RecordReader(Deposit)


@dataclass(frozen=True)
class Case:
    """What was asked for, in whole smallest units, and the JSON text that the service answers."""

    side: str
    units: int
    currency: str
    wire: dict[str, str]


def decimal_text(units: int, places: int) -> str:
    """The number as JSON text, by string work alone."""
    digits = str(abs(units)).rjust(places + 1, "0")
    text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    return f"-{text}" if units < 0 else text


def units_of(text: str, places: int) -> int | None:
    """The JSON number in whole smallest units, by string work alone; None when it is no plain number or too fine."""
    sign, text = (-1, text[1:]) if text.startswith("-") else (1, text)
    whole, _, fraction = text.partition(".")
    if not whole.isdigit() or (fraction and not fraction.isdigit()):
        return None
    padded = fraction.ljust(places, "0")
    if padded[places:].strip("0"):
        return None
    return sign * int(whole + padded[:places])


def oracle(case: Case) -> bool:
    """Whether the money is the money that was asked for."""
    return (
        case.wire["depositId"] == '"chk-1"'
        and case.wire["status"] == '"completed"'
        and case.wire[f"{case.side}Currency"] == f'"{case.currency}"'
        and units_of(case.wire[f"{case.side}Amount"], CURRENCIES[case.currency]) == case.units
    )


def ours(case: Case) -> bool:
    """The same question, asked the modules that decide: the answer's bytes go through the client's own parser."""
    amount = Decimal(case.units).scaleb(-CURRENCIES[case.currency])
    total: Total = Pay(amount, case.currency) if case.side == "input" else Receive(amount, case.currency, pay_in="USD")
    fields = ",".join(f'"{name}":{value}' for name, value in case.wire.items())
    deposit = _reader.read(data_of("read", f'{{"statusCode":200,"message":"ok","data":{{{fields}}}}}'.encode()))
    return deposit.status == "completed" and all(fact.agrees for fact in compare("chk-1", total, deposit))


_ODD_AMOUNTS = (
    "0",
    "-0",
    "0.00",
    "null",
    '"12.50"',
    "true",
    "[]",
    "{}",
    "NaN",
    "Infinity",
    "1e400",
    "1" * 20,
    "1e-400",
)


def case(chance: Random) -> Case:
    """A case drawn by chance; about a third of them agree."""
    side, other = chance.choice([("input", "output"), ("output", "input")])
    currency = chance.choice(sorted(CURRENCIES))
    places = CURRENCIES[currency]
    units = chance.choice([chance.randint(1, 10**6), chance.randint(1, 10**20)])
    right = decimal_text(units, places)
    near = [decimal_text(units + off, places) for off in (1, -1, 10**places, -2 * units)]
    finer = [right + "0", right + "000000001"] if places else [right + ".0", right + ".1"]
    wire = {
        "depositId": chance.choice(['"chk-1"'] * 9 + ['"chk-2"', '"CHK-1"', '"chk-1 "']),
        "status": chance.choice(['"completed"'] * 12 + ['"pending"', '"Completed"', '"paid"', '"failed"']),
        f"{side}Currency": chance.choice([f'"{currency}"'] * 9 + [f'"{currency.swapcase()}"', '"GBP"', "null"]),
        f"{other}Currency": chance.choice([f'"{currency}"', '"USD"']),
        f"{side}Amount": chance.choice([right] * 12 + near + finer + [chance.choice(_ODD_AMOUNTS)] * 3),
        f"{other}Amount": chance.choice([right, "1"]),
    }
    return Case(side, units, currency, wire)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_no_wrong_money_is_accepted_and_no_right_money_refused(seed: int) -> None:
    """20,000 pairs: 200 from each of 100 seeds, so that generating them costs less than judging them."""
    chance = Random(seed)  # noqa: S311 - repeatable cases, no secret
    drawn = [case(chance) for _ in range(200)]
    verdicts = [(one, ours(one), oracle(one)) for one in drawn]
    assert [one for one, accepted, expected in verdicts if accepted and not expected] == []
    assert [one for one, accepted, expected in verdicts if expected and not accepted] == []
    assert sum(expected for _, _, expected in verdicts) > 10, "the cases must hold both kinds"


def right(**fields: Any) -> Deposit:
    """A deposit that agrees with 12.50 USD on either side, but for `fields`."""
    agreeing: dict[str, Any] = {
        "deposit_id": "chk-1",
        "status": "completed",
        "input_currency": "USD",
        "input_amount": Decimal("12.5"),
        "output_currency": "USD",
        "output_amount": Decimal("12.500"),
    }
    return Deposit(**agreeing | fields)


@pytest.mark.parametrize(
    ("total", "deposit", "differs"),
    [
        pytest.param(Pay("12.50", "USD"), right(), [], id="pay agrees"),
        pytest.param(Pay("12.50", "USD"), right(output_amount=None, output_currency=None), [], id="pay: one side only"),
        pytest.param(Receive("12.50", "USD", pay_in="EUR"), right(), [], id="receive agrees"),
        pytest.param(
            Receive("12.50", "USD", pay_in="EUR"), right(input_currency="EUR"), [], id="receive: one side only"
        ),
        pytest.param(Pay("12.50", "USD"), right(deposit_id="chk-2"), ["depositId"], id="foreign deposit"),
        pytest.param(
            Pay("12.50", "USD"), right(input_currency="usd"), ["inputCurrency"], id="currency in another case"
        ),
        pytest.param(Pay("12.50", "USD"), right(input_amount=Decimal("12.51")), ["inputAmount"], id="one cent more"),
        pytest.param(Pay("12.50", "USD"), right(input_amount=Decimal("12.49")), ["inputAmount"], id="one cent less"),
        pytest.param(Pay("12.50", "USD"), right(input_amount=Decimal("-12.5")), ["inputAmount"], id="sign"),
        pytest.param(Pay("12.50", "USD"), right(input_amount=Decimal("NaN")), ["inputAmount"], id="not a number"),
        pytest.param(Pay("12.50", "USD"), right(input_amount=12.5), ["inputAmount"], id="a float is no amount"),
        pytest.param(Pay("12.50", "USD"), right(input_amount=None), ["inputAmount"], id="no amount"),
        pytest.param(
            Receive("12.50", "USD", pay_in="USD"), right(output_amount=Decimal(12)), ["outputAmount"], id="other side"
        ),
        pytest.param(
            Pay("12.50", "USD"),
            right(deposit_id="x", input_currency=None, input_amount=None),
            ["depositId", "inputCurrency", "inputAmount"],
            id="nothing agrees",
        ),
    ],
)
def test_each_comparison_names_what_differs(total: Total, deposit: Deposit, differs: list[str]) -> None:
    assert [fact.field for fact in compare("chk-1", total, deposit) if not fact.agrees] == differs


def test_a_comparison_shows_both_sides_and_bounds_what_a_stranger_wrote() -> None:
    facts = {fact.field: fact for fact in compare("chk-1", Pay("12.50", "USD"), right(input_currency="x" * 500))}
    assert (facts["inputAmount"].asked, facts["inputAmount"].seen) == ("12.50", "12.5")
    assert len(facts["inputCurrency"].seen) == 80
    assert compare("chk-1", Pay("1", "USD"), right(input_amount=None))[2].seen == "nothing"


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        pytest.param(Pay("12.50", "USD"), None, id="unchanged"),
        pytest.param(None, "order_not_payable", id="not payable"),
        pytest.param(Pay("12.51", "USD"), "order_changed", id="dearer"),
        pytest.param(Pay("12.50", "EUR"), "order_changed", id="other currency"),
        pytest.param(Pay("12.50", "USD", receive_in="usdc-polygon"), "order_changed", id="received in another"),
        pytest.param(Receive("12.50", "USD", pay_in="USD"), "order_changed", id="other side"),
    ],
)
def test_the_order_must_still_cost_the_same(now: Total | None, reason: str | None) -> None:
    assert order_disagreement(Pay("12.50", "USD"), now) == reason
