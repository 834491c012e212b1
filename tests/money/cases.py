"""Random pairs of requested money and the service's answer, with right and wrong money."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.money.defects import DEFECTS
from tests.money.drafts import Draft, agreeing
from tests.money.oracle import Asked

#: Each currency with its decimals.
CURRENCIES = {"JPY": 0, "KRW": 0, "USD": 2, "EUR": 2, "KWD": 3, "usdc-polygon": 18, "eth-mainnet": 18}
CHECKOUT_ID = "chk-1"


@dataclass(frozen=True)
class Case:
    """The requested money, the answer's bytes, and the names of their defects, which a failure shows."""

    asked: Asked
    body: bytes
    oddities: tuple[str, ...]

    def __repr__(self) -> str:
        return f"{self.asked}, {', '.join(self.oddities) or 'nothing odd'}: {self.body!r}"


def draw(chance: Random) -> Case:
    """Draw a case: two of five have no defect, and some have two defects."""
    currency = chance.choice(list(CURRENCIES))
    places = CURRENCIES[currency]
    units = chance.randint(1, 10 ** chance.choice([1, 3, 6, 12, 20, min(22 + places, 38)]))
    asked = Asked(CHECKOUT_ID, chance.choice(["input", "output"]), units, currency, places)
    draft = Draft(asked, chance, agreeing(asked, chance))
    names = chance.sample(list(DEFECTS), chance.choice([0, 0, 1, 1, 2]))
    for name in names:
        DEFECTS[name](draft)
    return Case(asked, draft.written(), tuple(names))
