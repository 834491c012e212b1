"""The checks of a shop's receivers: whether signals are heard."""

from __future__ import annotations

from collections.abc import Iterator

from flask_paycheckout.doctor.checks import Check, failure, ok, warning
from flask_paycheckout.runtime import Runtime
from flask_paycheckout.signals import NEEDS_RECEIVER, OF_PAYOUTS

__all__ = ["check_receivers"]


def check_receivers(shop: Runtime, *, pays_out: bool) -> Iterator[Check]:
    """Check the receivers of this process.

    :param pays_out: whether the shop has payouts; otherwise their signals are never sent.
    """
    unheard = shop.receivers.unheard()
    for name in sorted(NEEDS_RECEIVER if pays_out else NEEDS_RECEIVER - OF_PAYOUTS):
        count = len(shop.receivers.of(name))
        if name == "order_paid" and name in unheard:
            yield failure(name, "no receiver: the shop learns of no payment, and the events wait", _remedy(name))
        elif name in unheard:
            yield warning(name, "no receiver: nobody learns what needs a person, and the events wait", _remedy(name))
        elif count or name == "order_paid":
            yield ok(name, f"{count} receiver{'' if count == 1 else 's'}")
    binds = [key for key, found in shop.db.metadatas.items() if found.tables and key != shop.models.bind_key]
    if binds and not shop.settings.separate_database:
        others = ", ".join(sorted("the default database" if key is None else key for key in binds))
        yield warning(
            "receivers",
            f"the tables of {others} are in another database than those of payments: a receiver that writes there"
            " through db.session fails, since no transaction covers both",
            "Keep orders and payments in one database, or see 'Tables in a second database' in docs/receivers.md.",
        )


def _remedy(signal_name: str) -> str:
    return (
        f"Connect one in a module that every process of the shop imports: @{signal_name}.connect. If the shop needs"
        f" none, set PAYCHECKOUT_UNHEARD = ['{signal_name}']."
    )
