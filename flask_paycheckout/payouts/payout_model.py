"""The table of payouts, refunds included, in the shop's database."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Index, Integer, String, Text
from sqlalchemy.orm import Mapped, declared_attr, mapped_column

from flask_paycheckout.database.mapping import MOMENT, ROW_ID, PaymentTable, partial_index
from flask_paycheckout.text import MAX_ID
from flask_paycheckout.totals import is_token
from flask_paycheckout.wiring.logs import about

MAX_NUMBER = 64
"""The maximum length of an amount."""


class PayoutMixin(PaymentTable):
    """One payment of the shop to somebody. Subclass it together with `db.Model` to add columns of your own."""

    __tablename__ = "paycheckout_payout"

    @declared_attr.directive
    def __table_args__(cls) -> tuple[Any, ...]:  # noqa: N805 - it is a class
        # The first two indexes are for due payouts, longest waiting first; the others are for the owner's lists, newest
        # first.
        return (
            Index("ix_paycheckout_payout_due", "state", "due_at", "id"),
            partial_index("ix_paycheckout_payout_claim_ends", "claim_ends_at", where="state = 'claimable'"),
            Index("ix_paycheckout_payout_state", "status", "id"),
            Index("ix_paycheckout_payout_kind", "kind", "id"),
            Index("ix_paycheckout_payout_made", "created_at", "id"),
            # The last two are for the owner's lists of one merchant account.
            Index("ix_paycheckout_payout_account_state", "account", "status", "id"),
            Index("ix_paycheckout_payout_account_id", "account", "id"),
        )

    id: Mapped[int] = mapped_column(ROW_ID, primary_key=True)
    reference: Mapped[str] = mapped_column(String(MAX_ID), unique=True)
    """The shop's own reference, which never changes; a refund without one gets a generated reference."""

    service_reference: Mapped[str] = mapped_column(String(64), unique=True)
    """The reference of the present try at the service; a retry of a failed payout replaces it.

    The service reference of a refund may change until it is sent: it then gets the number of the payment's next
    transfer.
    """

    earlier: Mapped[str | None] = mapped_column(Text)
    """The tries before the present one, which a retry reads first; JSON, see `payouts.payout_table`."""

    client_id: Mapped[str | None] = mapped_column(String(MAX_ID))
    """The client id of the keys that the present try was sent with; NULL before, and for a signer that needs none."""

    paid_by: Mapped[str | None] = mapped_column(String(MAX_ID))
    """The merchant account whose money pays: `account`, or the account of the settings; NULL until it is sent."""

    kind: Mapped[str] = mapped_column(String(16))
    """The reason: `payout` or `refund`."""

    status: Mapped[str] = mapped_column(String(16))
    """The status: claimable, waiting, ready, sending, sent, completed, failed, unknown or cancelled."""

    state: Mapped[str] = mapped_column(String(16))
    """The state, which determines `status`; see `payouts.payout_states`."""

    account: Mapped[str] = mapped_column(String(MAX_ID))
    """The name of the merchant account that pays; empty for the account of the settings."""

    asked_by: Mapped[str | None] = mapped_column(String(MAX_ID))
    """The name of the person who asked for it; NULL when nobody was named."""

    order_id: Mapped[str | None] = mapped_column(String(MAX_ID), index=True)
    """The shop's own id of the order that it belongs to, if any."""

    refund_of: Mapped[str | None] = mapped_column(String(MAX_ID), index=True)
    """The id of the checkout whose money a refund pays back."""

    replaces: Mapped[str | None] = mapped_column(String(MAX_ID))
    """The reference of the newest failed refund whose money this refund counts; NULL if there is none."""

    replaced_by: Mapped[str | None] = mapped_column(String(MAX_ID))
    """The reference of the refund that counts the money of this failed one."""

    exact_amount: Mapped[str] = mapped_column("amount", String(MAX_NUMBER))
    asked_amount: Mapped[str | None] = mapped_column(String(MAX_NUMBER))
    """The requested amount, if a person has accepted another one; otherwise NULL."""

    currency: Mapped[str] = mapped_column(String(72))
    """An ISO 4217 code for a bank, a token id for a wallet."""

    exact_counts: Mapped[str | None] = mapped_column("counts", String(MAX_NUMBER))
    counts_currency: Mapped[str | None] = mapped_column(String(72))
    """The currency of `counts`, in which the customer paid; NULL unless it is a refund."""

    exact_fee: Mapped[str | None] = mapped_column("fee", String(MAX_NUMBER))

    reported_amount: Mapped[str | None] = mapped_column(String(MAX_NUMBER))
    """The exact amount that the service reports, while its record differs in a way that a person may accept.

    Empty if a person may accept the payout as it is, because the service cannot be asked.
    """

    note: Mapped[str | None] = mapped_column(Text)
    """A text that the service shows to the recipient."""

    to_kind: Mapped[str | None] = mapped_column(String(16))
    """The kind of destination: `bank`, `recipient`, `wallet` or `hand`; NULL until the receiver has named one."""

    to_details: Mapped[str | None] = mapped_column(Text)
    """The destination as JSON, sealed if PAYCHECKOUT_SEAL_KEY is set; NULL once wiped."""

    destination: Mapped[str | None] = mapped_column(Text)
    """The destination for people, with a masked account number."""

    fingerprint: Mapped[str | None] = mapped_column(String(80))
    """A keyed fingerprint of the destination."""

    revision: Mapped[int] = mapped_column(Integer, default=0)
    """The number of changes of the destination; an approval names the one that the person saw."""

    changes: Mapped[int] = mapped_column(Integer, default=0)
    """The number of changes and claims of the row; a change requires the number that it starts from."""

    claims: Mapped[int] = mapped_column(Integer, default=0)
    """The number of claims through its link, which is limited."""

    recipients: Mapped[str] = mapped_column(Text, default="")
    """The recipients that claims created at the service, one per line, see `payouts.claims`; erasing deletes them."""

    disbursement_id: Mapped[str | None] = mapped_column(String(MAX_ID), index=True)
    """The service's id, known once it was sent."""

    due_at: Mapped[datetime | None] = mapped_column(MOMENT)
    """The time of the next step: a send, a lookup, a read, or the next day; None when nothing is planned.

    While a process takes that step, the time when its claim ends and another process may take it.
    """

    claim_ends_at: Mapped[datetime | None] = mapped_column(MOMENT)
    """The time until which its receiver may say where the money goes; None for no end."""

    taken_at: Mapped[datetime | None] = mapped_column(MOMENT)
    """The time when it was first claimed for sending under its service reference; NULL again if nothing was sent."""

    missed_at: Mapped[datetime | None] = mapped_column(MOMENT)
    """The time of the first lookup that did not find it, by the database's clock; NULL while there is none."""

    doubt: Mapped[str | None] = mapped_column(String(16))
    """The `Doubt` whether an earlier call under its service reference was carried out; NULL if there is none."""

    counted_on: Mapped[str | None] = mapped_column(String(MAX_ID + 11))
    """The UTC day on which it was last counted against a daily limit, and the account with that limit."""

    failures: Mapped[int] = mapped_column(Integer, default=0)
    """The number of consecutive failures to send, look up or read it."""

    problem: Mapped[str | None] = mapped_column(Text)
    """The last error, for people; None after a success."""

    problem_since: Mapped[datetime | None] = mapped_column(MOMENT)
    """The time of the first error since the last success."""

    created_at: Mapped[datetime] = mapped_column(MOMENT)
    """The time of creation; an aware UTC datetime, like every other time here."""

    moved_at: Mapped[datetime] = mapped_column(MOMENT)
    """The time when the state last changed."""

    history: Mapped[str] = mapped_column(Text)
    """The history, one JSON object per line; `explain` reads it."""

    pruned_at: Mapped[datetime | None] = mapped_column(MOMENT)
    """The time when its earlier history was removed by `flask paycheckout prune`; NULL while it is whole."""

    @property
    def amount(self) -> Decimal:
        """The amount that is sent, exactly, in `currency`."""
        return Decimal(self.exact_amount)

    @property
    def counts(self) -> Decimal | None:
        """The amount that a refund takes of the payment, exactly, in `counts_currency`; None unless it is a refund."""
        return None if self.exact_counts is None else Decimal(self.exact_counts)

    @property
    def fee(self) -> Decimal | None:
        """The fee in `currency`, exactly, as the service reported it; None until it did."""
        return None if self.exact_fee is None else Decimal(self.exact_fee)

    @property
    def payer(self) -> str:
        """The merchant account whose money pays, or may have paid; before the payout is sent, `account`."""
        return self.account if self.paid_by is None else self.paid_by

    @property
    def shown_status(self) -> str:
        """The status for people: `replaced` for a failed refund in whose place another refund was made."""
        return self.state if self.state == "replaced" else self.status

    @property
    def has_lapsed(self) -> bool:
        """Whether it was cancelled because nobody said in time where the money goes."""
        end = self.claim_ends_at
        return self.status == "cancelled" and self.to_kind is None and end is not None and end <= self.moved_at

    @property
    def is_claimed(self) -> bool:
        """Whether its receiver says, or has said, where the money goes."""
        return self.to_kind is None or self.revision > 0

    @property
    def is_token(self) -> bool:
        """Whether it is paid in a token, to a wallet; the service cannot be asked about such payouts later."""
        return is_token(self.currency)

    def __repr__(self) -> str:
        # Without the destination: reprs end up in logs.
        return f"<{type(self).__name__} {self.reference!r}: {self.exact_amount} {self.currency}, {self.status}>"


def about_payout(payout: PayoutMixin, *, heals: bool = False) -> dict[str, Any]:
    """The fields of a log record about a payout or refund."""
    return about(payout.order_id, payout.refund_of, payout.account, reference=payout.reference, heals=heals)
