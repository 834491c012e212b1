"""Drafts of answers: the right money as JSON text, in any notation that a service may use.

Amounts are made from whole smallest units with string operations only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from tests.money.oracle import Asked


@dataclass
class Draft:
    """A draft of an answer: names and values as JSON text."""

    asked: Asked
    chance: Random
    data: list[tuple[str, str]]
    envelope: list[tuple[str, str]] = field(default_factory=lambda: [("statusCode", "200"), ("message", '"ok"')])

    @property
    def amount(self) -> str:
        return f"{self.asked.side}Amount"

    @property
    def currency(self) -> str:
        return f"{self.asked.side}Currency"

    @property
    def other(self) -> str:
        return "output" if self.asked.side == "input" else "input"

    def set(self, name: str, token: str) -> None:
        self.data = [(key, token if key == name else value) for key, value in self.data]

    def value(self, name: str) -> str:
        return next((value for key, value in self.data if key == name), "null")

    def drop(self, name: str) -> None:
        self.data = [(key, value) for key, value in self.data if key != name]

    def again(self, name: str, token: str) -> None:
        """Add a second member of this name, before or after the first one."""
        self.data.insert(self.chance.randrange(len(self.data) + 1), (name, token))

    def written(self) -> bytes:
        gap = self.chance.choice(["", "", " ", "\n  ", "\t\r\n"])
        data = object_text(self.data, gap)
        return object_text([*self.envelope, ("data", data)], gap).encode("utf-8", "surrogatepass")


def decimal_text(units: int, places: int) -> str:
    """Whole smallest units as a decimal number, such as 1250 with 2 places as 12.50."""
    digits = str(abs(units)).rjust(places + 1, "0")
    text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    return f"-{text}" if units < 0 else text


def object_text(members: list[tuple[str, str]], gap: str) -> str:
    return "{" + ",".join(f'{gap}"{name}":{gap}{value}' for name, value in members) + gap + "}"


def agreeing(asked: Asked, chance: Random) -> list[tuple[str, str]]:
    other = "output" if asked.side == "input" else "input"
    members = [
        ("depositId", f'"{asked.checkout_id}"'),
        ("status", '"completed"'),
        (f"{asked.side}Currency", f'"{asked.currency}"'),
        (f"{asked.side}Amount", _spelled(asked.units, asked.places, chance)),
        (f"{other}Currency", chance.choice(['"USD"', f'"{asked.currency}"', "null"])),
        (f"{other}Amount", chance.choice(["1", "0.01", "999999", "null", '"12.50"'])),
        ("activityHistory", chance.choice(["[]", "null", '[{"activity":"Payment received","status":"completed"}]'])),
    ]
    chance.shuffle(members)
    return members


def _spelled(units: int, places: int, chance: Random) -> str:
    """The decimal number of these units as a service may write it."""
    plain = decimal_text(units, places)
    whole, _, fraction = plain.partition(".")
    shift = chance.randint(0, 6)
    spellings = [
        plain,
        plain,
        f"{whole}.{fraction}{'0' * chance.randint(1, 12)}",
        f"{whole}.{fraction.rstrip('0')}".rstrip("."),
        f"{units}{'0' * shift}{chance.choice('eE')}-{places + shift}",
        f"{decimal_text(units, places + shift)}{chance.choice(['e', 'E', 'e+', 'E+0'])}{shift}",
        f"{units}E-00{places}",
    ]
    return chance.choice(spellings)
