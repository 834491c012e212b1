"""Records of checkouts."""

from __future__ import annotations

import msgspec

from flask_paycheckout.client.hidden import concealed
from flask_paycheckout.client.operations import segment
from flask_paycheckout.client.records.record import Record

__all__ = ["CheckoutLink"]


class CheckoutLink(Record, frozen=True, rename="camel"):
    """A checkout that the service accepted. Its page is valid for 15 minutes.

    :ivar id: the checkout id; also the id of the deposit to come and the webhook's `orderId`.
    :ivar url: the hosted page, to be used exactly as given. Whoever has it can pay, so `repr` does not show it.
    """

    id: str
    url: str

    def __post_init__(self) -> None:
        # A checkout that could never be asked about, or that has no page, is none.
        segment(self.id)
        if not self.url:
            raise ValueError("the checkout has no url")
        msgspec.structs.force_setattr(self, "url", concealed(self.url))
