"""Operations that the service's interface writes in two forms, and which form a client uses."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

__all__ = ["Forms", "PaymentsPath", "RecipientDelete"]

PaymentsPath = Literal["/v2/payments", "/v2/payment"]
RecipientDelete = Literal["path", "query"]


class Forms(msgspec.Struct, frozen=True):
    """The forms that a client uses; each default is the form that the interface gives first.

    :raises ValueError: there is no such form.
    """

    payments_path: PaymentsPath = "/v2/payments"
    recipient_delete: RecipientDelete = "path"

    def __post_init__(self) -> None:
        for name, kind in (("payments_path", PaymentsPath), ("recipient_delete", RecipientDelete)):
            value, known = getattr(self, name), get_args(kind)
            if value not in known:
                raise ValueError(f"{name} must be {' or '.join(map(repr, known))}, not {value!r}")
