"""The keys of a merchant account, as the shop passes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from enum import Enum
from typing import Any, Literal

from flask_paycheckout.client.hidden import concealed
from flask_paycheckout.config import check_account


class _FromSettings(Enum):
    """An `Account`'s `access_token` that sends its payouts with PAYCHECKOUT_ACCESS_TOKEN, whose account then pays."""

    SETTINGS = "settings"


SETTINGS = _FromSettings.SETTINGS

AccessToken = str | Callable[[], str] | Literal[_FromSettings.SETTINGS]


@dataclass(frozen=True, slots=True, init=False)
class Account:
    """The keys of a merchant account. A value that is left out, or None, comes from the settings of the app.

    Keys never come from the settings: an account without client id and secret is refused, unless it has a `signer`, and
    the payouts of an account without an access token wait.

    :param client_id: signs every request, together with `client_secret`.
    :param base_url: the address of the payments service.
    :param access_token: for payouts; a string, a function that returns one, or `SETTINGS` for the settings' token,
        whose account then pays.
    :param signer: replaces the built-in signing.
    :param checkout_origins: the origins to which a customer may be redirected.
    :param public_url: the base of absolute links to its orders and refunds.
    :param shop_name: the shop's name on its customers' pages; `logo`, `accent`, `contact` and `seller` as the settings.
    :param languages: the codes of its pages' languages; the first is the default.
    :param time_zone: the name of the time zone of its pages, and of its months in the owner's books.
    :raises ConfigurationError: a value cannot be used; the message names it, and never shows a secret.
    """

    client_id: str
    client_secret: str = field(repr=False)
    base_url: str | None
    access_token: AccessToken | None = field(repr=False)
    signer: Any = field(repr=False)
    checkout_origins: tuple[str, ...] | None
    public_url: str | None
    shop_name: str | None
    logo: str | None
    accent: str | None
    contact: str | None
    seller: str | None
    languages: tuple[str, ...] | None
    time_zone: tzinfo | None

    def __init__(
        self,
        client_id: str | None,
        client_secret: str | None,
        *,
        base_url: str | None = None,
        access_token: AccessToken | None = None,
        signer: Any = None,
        checkout_origins: Sequence[str] | None = None,
        public_url: str | None = None,
        shop_name: str | None = None,
        logo: str | None = None,
        accent: str | None = None,
        contact: str | None = None,
        seller: str | None = None,
        languages: Sequence[str] | None = None,
        time_zone: str | None = None,
    ) -> None:
        # An address may contain a password too.
        client_secret, access_token, base_url = concealed(client_secret), concealed(access_token), concealed(base_url)
        own_token = None if access_token is SETTINGS else access_token
        keys = (client_id, client_secret, base_url, own_token, signer)
        values = (*keys, checkout_origins, public_url, shop_name, logo, accent, contact, seller, languages, time_zone)
        arguments = dict(zip(self.__slots__, values, strict=True))
        checked = check_account({name: value for name, value in arguments.items() if value is not None})
        if access_token is SETTINGS:
            checked["access_token"] = SETTINGS
        for name in self.__slots__:
            object.__setattr__(self, name, checked.get(name))
