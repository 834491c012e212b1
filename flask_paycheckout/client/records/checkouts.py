"""What the service answers about checkouts."""

from __future__ import annotations

import msgspec

__all__ = ["CheckoutLink"]


class CheckoutLink(msgspec.Struct, frozen=True, rename="camel"):
    """A checkout that the service accepted. Its page is valid for 15 minutes.

    :ivar id: the checkout id; also the id of the deposit to come and the webhook's `orderId`.
    :ivar url: the hosted page, to be used exactly as given.
    """

    id: str
    url: str
