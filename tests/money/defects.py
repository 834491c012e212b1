"""Defects of a deposit in an answer, by name: each changes a draft in one of several random ways.

`tests/client/test_envelope.py` tests malformed and truncated envelopes.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.money.drafts import Draft, decimal_text, object_text


def _amounts(draft: Draft) -> list[str]:
    """Numbers close to the right one, and values that only look like it."""
    asked, chance = draft.asked, draft.chance
    right = decimal_text(asked.units, asked.places)
    point = "" if asked.places else "."
    return [
        decimal_text(asked.units + chance.choice([1, -1]), asked.places),
        decimal_text(asked.units + chance.choice([10, -10, 100]), asked.places),
        decimal_text(-asked.units, asked.places),
        decimal_text(asked.units * 10, asked.places),
        decimal_text(asked.units, asked.places + 1),
        # The amount as a double prints it, to its own 17 digits: often, but not always, another number.
        repr(asked.units / 10**asked.places),
        f"{right}{point}{'0' * 18}1",
        f"{right}{point}4",
    ]


def _near(draft: Draft) -> None:
    draft.set(draft.amount, draft.chance.choice(_amounts(draft)))


def _no_amount(draft: Draft) -> None:
    odd = ["0", "-0", "0.00", "0e9", "1e400", "-1e400", "1e-400", "NaN", "Infinity", "-Infinity"]
    draft.set(draft.amount, draft.chance.choice([*odd, "9" * 20, "1" + "0" * 99]))


def _not_a_number(draft: Draft) -> None:
    right = draft.value(draft.amount)
    odd = f'"{right}"|" {right}"|true|false|null|[{right}]|{{"amount":{right}}}|""|{{}}|[]'
    draft.set(draft.amount, draft.chance.choice(odd.split("|")))


def _no_json_number(draft: Draft) -> None:
    right = decimal_text(draft.asked.units, draft.asked.places)
    odd = f"+{right} 0{right} {right}. .{right} {right}e {right}_0 --{right} 0x10 1,5 nan １２"
    draft.set(draft.amount, draft.chance.choice(odd.split()))


def _swapped_sides(draft: Draft) -> None:
    for what in ("Amount", "Currency"):
        mine, its = draft.asked.side + what, draft.other + what
        here, there = draft.value(mine), draft.value(its)
        draft.set(mine, there)
        draft.set(its, here)


def _other_currency(draft: Draft) -> None:
    own = draft.asked.currency
    odd = [own.swapcase(), "GBP", f"{own} ", f" {own}", own[:-1], "", f"{own}\\u0000", "\\ud800", f"{own}\\u200b"]
    draft.set(
        draft.currency, draft.chance.choice([*(f'"{text}"' for text in odd), "null", "840", f'["{own}"]', "true"])
    )


def _escaped_currency(draft: Draft) -> None:
    """The right currency, with JSON escapes."""
    draft.set(draft.currency, '"' + "".join(f"\\u{ord(sign):04X}" for sign in draft.asked.currency) + '"')


def _foreign_deposit(draft: Draft) -> None:
    own = draft.asked.checkout_id
    odd = f'"chk-2"|"{own.upper()}"|"{own} "|"{own}\\u0000"|""|null|1|["{own}"]|"{"x" * 501}"|"\\udc00"'
    draft.set("depositId", draft.chance.choice(odd.split("|")))


def _other_status(draft: Draft) -> None:
    words = ["pending", "Completed", "COMPLETED", "complete", "completed ", "paid", "failed", "expired", "processed"]
    odd = ['""', '"успех"', "null", "true", "200", '["completed"]', '{"status":"completed"}', '"completed\\u0000"']
    odd.append(f'"{"s" * 501}"')
    draft.set("status", draft.chance.choice([*(f'"{word}"' for word in words), *odd]))


def _missing(draft: Draft) -> None:
    draft.drop(draft.chance.choice(["depositId", "status", draft.amount, draft.currency, f"{draft.other}Amount"]))


def _said_twice(draft: Draft) -> None:
    """A member twice, with the same value or another; which one counts is undefined."""
    name = draft.chance.choice(["depositId", "status", draft.amount, draft.currency])
    others = {"depositId": '"chk-2"', "status": '"pending"', draft.amount: "1", draft.currency: '"GBP"'}
    draft.again(name, draft.chance.choice([others[name], draft.value(name)]))


def _data_twice(draft: Draft) -> None:
    wrong = object_text([(key, "1" if key == draft.amount else value) for key, value in draft.data], "")
    draft.envelope.insert(draft.chance.randrange(3), ("data", wrong))


DEFECTS: dict[str, Callable[[Draft], None]] = {
    defect.__name__.strip("_").replace("_", " "): defect
    for defect in (
        *(_near, _no_amount, _not_a_number, _no_json_number, _swapped_sides, _other_currency),
        *(_escaped_currency, _foreign_deposit, _other_status, _missing, _said_twice),
        _data_twice,
    )
}
