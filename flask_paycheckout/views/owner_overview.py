"""The figures of the owner's first page: today, and this month beside the month before; and the bars that draw them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta, tzinfo
from decimal import Decimal

from flask_paycheckout.books.figures import Figures, figures_of
from flask_paycheckout.books.periods import Period, moment_of
from flask_paycheckout.runtime import runtime

_ONE_DAY = timedelta(days=1)
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
    change: int | None
    """How many percent more was taken than in as many days of the month before; None where nothing was."""

    share: Decimal | None
    """The fees in percent of what was taken."""

    days: list[Bar]
    """A bar for each day of the month, from the first to the last."""

    methods: list[Bar]
    """A bar for each payment method, by its stored name, the longest first."""


def overviews(account: str | None, zone: tzinfo, today: date) -> list[Overview]:
    """The figures of each currency, first the one in which most was taken this month.

    :param account: only this merchant account's figures.
    :param zone: the time zone of the page.
    """
    first = today.replace(day=1)
    following = (first + timedelta(days=31)).replace(day=1)
    before = (first - _ONE_DAY).replace(day=1)
    as_far = min(before + (today - first) + _ONE_DAY, first)
    shop = runtime()

    def figures(start: date, end: date, *, with_checkouts: bool) -> dict[str, Figures]:
        period = Period(moment_of(start, zone), moment_of(end, zone), account)
        found = figures_of(shop.engine(), shop.models, period, zone, with_checkouts=with_checkouts)
        return {each.currency: each for each in found}

    months = figures(first, today + _ONE_DAY, with_checkouts=True)
    # Of these the page shows only what was taken.
    day = figures(today, today + _ONE_DAY, with_checkouts=False)
    earlier = figures(before, as_far, with_checkouts=False)
    found = []
    for currency, month in months.items():
        taken, taken_before = month.taken, earlier.get(currency, Figures(currency))
        change = round(100 * (taken - taken_before.taken) / taken_before.taken) if taken_before.taken else None
        share = round(100 * month.fees / taken, 1) if taken else None
        bars = _days(month, first, following), _methods(month)
        found.append(Overview(day.get(currency, Figures(currency)), month, taken_before, first, change, share, *bars))
    return sorted(found, key=lambda each: (-each.month.payments, -each.month.begun, each.month.currency))


def _days(month: Figures, first: date, following: date) -> list[Bar]:
    most, bars = max(month.by_day.values(), default=Decimal(0)), []
    for number in range((following - first).days):
        day = first + number * _ONE_DAY
        amount = month.by_day.get(day, Decimal(0))
        length = float(_HEIGHT * amount / most) if most > 0 and amount > 0 else 0.0
        bars.append(Bar(day.isoformat(), amount, round(length, 1), number * _WIDTH))
    return bars


def _methods(month: Figures) -> list[Bar]:
    found = sorted(month.by_method.items(), key=lambda each: -each[1][1])
    most = max([amount for _, (_, amount) in found], default=Decimal(0))
    return [
        Bar(name, amount, round(float(100 * amount / most), 1) if most > 0 else 0.0, count=count)
        for name, (count, amount) in found
    ]
