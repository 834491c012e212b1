"""The figures of the owner's first page: today, and this month beside the month before; and the bars that draw them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from flask_paycheckout.books.figures import Figures, figures_of
from flask_paycheckout.books.periods import Period, moment_of
from flask_paycheckout.runtime import runtime
from flask_paycheckout.views.language import page_settings

_ONE_DAY = timedelta(days=1)
_METHODS = {"": "not said", "crypto": "From a wallet"}
# The service writes codes in small letters with underscores.
_CODE = re.compile("[a-z0-9]+(_[a-z0-9]+)+")
_CAPITALS = frozenset({"ach", "eth", "pix", "qris", "sepa", "usdc", "usdt"})
# The drawing of the days: the height of the longest bar, and the width of a day, in units of the drawing.
_HEIGHT, _WIDTH = 80, 20


@dataclass(frozen=True)
class Bar:
    """A bar of a drawing."""

    name: str
    amount: Decimal
    length: float
    """In units of the drawing; of the longest bar it is `_HEIGHT`, or 100 where bars lie."""

    place: int = 0
    count: int = 0


@dataclass(frozen=True)
class Overview:
    """The figures of one currency, for the cards and drawings of the first page."""

    today: Figures
    month: Figures
    before: Figures
    """The figures of as many days of the month before."""

    first: date
    last: date
    """The last day of this month."""

    @property
    def change(self) -> int | None:
        """How many percent more was taken than in as many days of the month before; None where nothing was."""
        if not self.before.taken:
            return None
        return round(100 * (self.month.taken - self.before.taken) / self.before.taken)

    @property
    def share(self) -> Decimal | None:
        """The fees in percent of what was taken."""
        return round(100 * self.month.fees / self.month.taken, 1) if self.month.taken else None

    @property
    def days(self) -> list[Bar]:
        """A bar for each day of the month, from the first to the last."""
        most = max(self.month.by_day.values(), default=Decimal(0))
        bars = []
        for number in range((self.last - self.first).days + 1):
            day = self.first + number * _ONE_DAY
            amount = self.month.by_day.get(day, Decimal(0))
            length = float(_HEIGHT * amount / most) if most > 0 and amount > 0 else 0.0
            bars.append(Bar(day.isoformat(), amount, round(length, 1), number * _WIDTH))
        return bars

    @property
    def methods(self) -> list[Bar]:
        """A bar for each payment method, the longest first."""
        found = sorted(self.month.by_method.items(), key=lambda each: -each[1][1])
        most = max((amount for _, (_, amount) in found), default=Decimal(0))
        return [
            Bar(method_name(name), amount, round(float(100 * amount / most), 1) if most > 0 else 0.0, count=count)
            for name, (count, amount) in found
        ]


def overviews(account: str | None) -> list[Overview]:
    """The figures of each currency, first the one in which most was taken this month.

    :param account: only this merchant account's figures, by whose time zone the page is made.
    """
    today = runtime().clock().astimezone(page_settings().time_zone).date()
    first = today.replace(day=1)
    following = (first + timedelta(days=31)).replace(day=1)
    before = (first - _ONE_DAY).replace(day=1)
    as_far = min(before + (today - first) + _ONE_DAY, first)
    month = _figures(first, today + _ONE_DAY, account)
    # Of these the page shows only what was taken.
    day = _figures(today, today + _ONE_DAY, account, with_checkouts=False)
    earlier = _figures(before, as_far, account, with_checkouts=False)
    found = [
        Overview(day.get(currency, Figures(currency)), figures, earlier.get(currency, Figures(currency)), first, last)
        for last in [following - _ONE_DAY]
        for currency, figures in month.items()
    ]
    return sorted(found, key=lambda each: (-each.month.payments, -each.month.begun, each.month.currency))


def _figures(start: date, end: date, account: str | None, *, with_checkouts: bool = True) -> Mapping[str, Figures]:
    shop, zone = runtime(), page_settings().time_zone
    period = Period(moment_of(start, zone), moment_of(end, zone), account)
    figures = figures_of(shop.engine(), shop.models, period, zone, with_checkouts=with_checkouts)
    return {each.currency: each for each in figures}


def method_name(method: str | None) -> str:
    """The name of a payment method for people; of a bank's code its words: "US bank transfer"."""
    if method in _METHODS:
        return _METHODS[method]
    if method is None or not _CODE.fullmatch(method):
        return method or ""
    first, *words = (word.upper() if len(word) == 2 or word in _CAPITALS else word for word in method.split("_"))
    return " ".join([first[:1].upper() + first[1:], *words])
