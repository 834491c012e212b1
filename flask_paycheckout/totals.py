"""The total of an order, with either the customer's or the shop's amount fixed.

A shop returns `Pay` if the customer pays exactly this amount, or `Receive` if the shop receives exactly this amount.
`Pay` is sent as the service's `inputAmount`, `Receive` as its `outputAmount`; the service takes exactly one of them.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, fields
from decimal import ROUND_DOWN, Context, Decimal, InvalidOperation
from functools import cache

# A token id of the service: <symbol>-<network>, for instance "usdc-polygon".
_TOKEN_ID = re.compile(r"[A-Za-z0-9.]{1,24}-[A-Za-z0-9_.-]{1,40}")

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?(s?nan|inf(inity)?)", re.I)

_MAYBE_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}[.,][0-9]{3}")
_EXPONENT = re.compile(r"[0-9]e", re.I)

# More digits than any order's price has; the limit prevents hostile numbers with megabytes of digits.
_MAX_DIGITS = 40

EXACT = Context(prec=600)
"""Arithmetic with more digits than any sum has; the caller's own decimal context could round."""

# Longer than any number that the client accepts, in digits.
_MAX_TEXT = 255

# Codes that the standard has withdrawn; money in these currencies may be stored, or under way.
_WITHDRAWN = dict.fromkeys(("ANG", "BGN", "CUC", "HRK", "SLL", "ZWL"), 2)


class NothingToPay(ValueError):
    """The amount is zero, so there is nothing to pay."""

    def __init__(self, message: str, currency: str) -> None:
        super().__init__(message, currency)
        self.currency = currency

    def __str__(self) -> str:
        return str(self.args[0])


@cache
def _minor_units() -> dict[str, int | None]:
    """The decimals of each ISO 4217 code; None if the standard defines none (gold, test codes)."""
    # Imported late: parsing the standard's table takes longer than importing the rest of this package.
    import iso4217

    return _WITHDRAWN | {currency.code: currency.exponent for currency in iso4217.Currency}


def decimals_of(currency: str, name: str = "currency") -> int | None:
    """The number of decimals of a currency; None for a token, whose decimals only its chain defines.

    :param name: the name of the argument, for the errors.
    :raises TypeError: the code is not a string.
    :raises ValueError: the code is neither an ISO 4217 currency nor a token id.
    """
    if not isinstance(currency, str):
        raise TypeError(f"{name} must be a string such as 'USD', not {type(currency).__name__}")
    units = _minor_units()
    if currency in units:
        return units[currency]
    if _TOKEN_ID.fullmatch(currency):
        return None
    raise ValueError(
        f"{name} {currency[:40]!r} is neither an ISO 4217 code in capitals, such as 'USD',"
        " nor a token id of the service, such as 'usdc-polygon'"
    )


plain_code = str.__str__
"""Returns a currency's code as a plain text: a member of the shop's own enumeration would be formatted by its name."""


def is_token(currency: str) -> bool:
    """Whether a currency is a token, which is paid to wallets, and no currency of bank accounts."""
    # Decided by the form, because the standard may have withdrawn a stored code.
    return "-" in currency


def exact_decimal(name: str, amount: Decimal | int | str, currency: str | None, places: int | None) -> Decimal:
    """An amount as an exact Decimal of zero or more: the only check of money that callers pass.

    :param name: the name of the argument, for the errors.
    :param currency: the currency, for the errors.
    :param places: the maximum number of decimals of the currency; None if it is unknown.
    :raises TypeError: the amount is a float or another type.
    :raises ValueError: not a number, not finite, negative, more than 40 digits, or more decimals than `places`;
        trailing zeros do not count as decimals.
    """
    of = "" if currency is None else f" in {currency}"
    if isinstance(amount, bool) or not isinstance(amount, (Decimal, int, str)):
        raise TypeError(
            f"{name} must be Decimal, int or str, not {type(amount).__name__}:"
            f" a float cannot hold cents exactly; write Decimal('12.50'){of and f' for an amount{of}'}"
        )
    try:
        # Python itself also reads "1_0", and digits of all scripts.
        exact = Decimal(amount if not isinstance(amount, str) or _NUMBER.fullmatch(amount.strip()) else "no number")
    except InvalidOperation:
        raise ValueError(f"{name} {str(amount)[:40]!r}{of} is not a decimal number") from None
    if not exact.is_finite():
        raise ValueError(f"{name} {exact}{of} is not a finite number")
    if exact < 0:
        raise ValueError(f"{name} {str(exact)[:40]}{of} is not positive")
    exponent = exact.as_tuple().exponent
    assert isinstance(exponent, int)  # noqa: S101 - finite, shown above
    if places is not None and exponent < -places and exact.adjusted() < _MAX_DIGITS:
        rounded = exact.quantize(Decimal(1).scaleb(-places), context=EXACT)
        if rounded == exact:
            # Trailing zeros do not count as decimals; a column `NUMERIC(12, 4)` adds them.
            exact, exponent = rounded, -places
    if exact.adjusted() >= _MAX_DIGITS or exponent < -_MAX_DIGITS or len(exact.as_tuple().digits) > _MAX_DIGITS:
        raise ValueError(f"{name}{of} has more than {_MAX_DIGITS} digits")
    if places is not None and -exponent > places:
        raise ValueError(
            f"{name} {exact} has more decimals than {currency} has ({places}). Write at most {places} decimals;"
            " round a calculated amount"
        )
    return exact


def positive_amount(amount: Decimal | int | str, currency: str, name: str = "amount") -> Decimal:
    """The amount as an exact, positive Decimal with the currency's own number of decimals.

    :param name: the name of the argument, for the errors.
    :raises TypeError: the amount is a float or another type.
    :raises ValueError: zero, negative, not finite, more decimals than the currency has, or an unknown currency.
    """
    places = decimals_of(currency)
    exact = exact_decimal(name, amount, currency, places)
    if exact == 0:
        message = f"{name} {str(exact)[:40]} in {currency} is not positive: there is nothing to pay"
        raise NothingToPay(message, currency)
    if places is None:
        return Decimal(format(exact, "f"))
    return exact.quantize(Decimal(1).scaleb(-places), context=EXACT)


def number_of(text: str | None) -> Decimal | None:
    """Parse a number that is stored or from the shop; None if it cannot be an amount of money, such as 1e9999."""
    try:
        number = Decimal("NaN" if text is None else text)
    except InvalidOperation:
        return None
    exponent = number.as_tuple().exponent
    is_amount = isinstance(exponent, int) and exponent >= -_MAX_TEXT and number.adjusted() < _MAX_TEXT
    return number if is_amount else None


@dataclass(frozen=True, slots=True)
class Amount:
    """A sum of money that the service reported."""

    amount: Decimal
    """The exact amount, with as many decimals as the service sent."""

    currency: str
    """An ISO 4217 code, or a token id of the service."""

    def __str__(self) -> str:
        return f"{self.amount:f} {self.currency}"


def amount_of(amount: str | None, currency: str | None) -> Amount | None:
    """The amount in two columns; None if a column is empty, or the amount is no number."""
    if not currency:
        return None
    number = number_of(amount)
    return None if number is None else Amount(number, currency)


def whole_units(amount: Decimal, currency: str) -> Decimal:
    """An amount rounded down to its currency's smallest unit, because nobody can pay less; tokens stay exact."""
    try:
        places = decimals_of(currency)
    except ValueError:
        # A code of the service that is unknown here.
        places = None
    whole = amount if places is None else amount.quantize(Decimal(1).scaleb(-places), ROUND_DOWN, EXACT)
    # Keep the original notation if rounding changes nothing.
    return amount if whole == amount else whole


def typed_amount(text: str, name: str = "amount") -> str:
    """A number that a person typed, on a page or in a command, with a point before its decimals.

    In every language, a comma counts as a decimal mark too.

    :param name: the name of the field or option, for the errors.
    :raises ValueError: the text is empty; may mean thousands, because three digits follow its only mark; or has an
        exponent, which a person types by mistake.
    """
    number = text.strip()
    if not number:
        raise ValueError(f"{name} is missing: say how much")
    if _MAYBE_THOUSANDS.fullmatch(number):
        whole, part = re.split("[.,]", number)
        raise ValueError(
            f"{name} {number} may mean {whole}{part} or {whole}.{part}: write {whole}{part}, or {whole}.{part}0"
        )
    if _EXPONENT.search(number):
        raise ValueError(f"{name} must be written like 12.50")
    return number.replace(",", ".")


def amount_to_type(amount: Decimal) -> str:
    """An amount in the form that `typed_amount` reads: with a trailing zero if it could be mistaken for thousands."""
    text = f"{amount:f}"
    return f"{text}0" if _MAYBE_THOUSANDS.fullmatch(text) else text


@dataclass(frozen=True, slots=True)
class Pay:
    """The customer pays exactly `amount` in `currency`.

    :param amount: Decimal, int or str; never a float.
    :param currency: ISO 4217 code, or a token id of the service.
    :param receive_in: the currency that the shop receives; None for `currency`.
    :param parts: whether several payments may pay the order, each of any amount up to the balance.
    :param now: the amount that the next checkout asks for, such as a deposit or an instalment; the order may then be
        paid in parts. If the balance is smaller, the checkout asks for the balance. Zero asks for the whole balance.
    :raises TypeError: the amount is a float or another type.
    :raises ValueError: zero, negative, not finite, more decimals than the currency has, or an unknown currency.
    """

    amount: Decimal
    currency: str
    receive_in: str | None
    parts: bool
    now: Decimal | None

    def __init__(
        self,
        amount: Decimal | int | str,
        currency: str,
        *,
        receive_in: str | None = None,
        parts: bool = False,
        now: Decimal | int | str | None = None,
    ) -> None:
        if not isinstance(parts, bool):
            raise TypeError(f"parts must be True or False, not {type(parts).__name__}")
        object.__setattr__(self, "amount", positive_amount(amount, currency))
        object.__setattr__(self, "currency", plain_code(currency))
        if receive_in is not None:
            decimals_of(receive_in, "receive_in")
        # Equal totals stay equal if the shop passes the default explicitly.
        object.__setattr__(self, "receive_in", None if receive_in in (None, currency) else plain_code(receive_in))
        object.__setattr__(self, "parts", parts or now is not None)
        due = None
        with suppress(NothingToPay):
            due = None if now is None else positive_amount(now, currency, "now")
        object.__setattr__(self, "now", due)

    def __str__(self) -> str:
        return f"{self.amount:f} {self.currency}"


@dataclass(frozen=True, slots=True)
class Receive:
    """The shop receives exactly `amount` in `currency`; the customer's amount depends on the payment method's fees.

    :param amount: Decimal, int or str; never a float.
    :param currency: ISO 4217 code, or a token id of the service.
    :param pay_in: the currency in which the customer pays.
    :raises TypeError: the amount is a float or another type.
    :raises ValueError: zero, negative, not finite, more decimals than the currency has, or an unknown currency.
    """

    amount: Decimal
    currency: str
    pay_in: str

    def __init__(self, amount: Decimal | int | str, currency: str, *, pay_in: str) -> None:
        object.__setattr__(self, "amount", positive_amount(amount, currency))
        object.__setattr__(self, "currency", plain_code(currency))
        decimals_of(pay_in, "pay_in")
        object.__setattr__(self, "pay_in", plain_code(pay_in))

    def __str__(self) -> str:
        return f"{self.amount:f} {self.currency} after the fee, paid in {self.pay_in}"


Total = Pay | Receive


def plain_total(total: Total) -> Total:
    """A total as a plain `Pay` or `Receive`, because an object of a subclass equals no stored total."""
    kind = Pay if isinstance(total, Pay) else Receive
    return kind(**{each.name: getattr(total, each.name) for each in fields(kind)})
