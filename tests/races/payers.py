"""A process of `tests.shop_app` that decides what it is told to, and sends payouts: `python -m tests.races.payers`.

Its last argument says in how many processes, which begin together.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress

from flask_paycheckout import TransitionRefused
from tests.races.crowds import in_processes
from tests.shop_app import create_shop

ROUNDS = 5


def main(decisions: list[str], waits_for_others: Callable[[], object]) -> None:
    shop = create_shop(PAYCHECKOUT_ACCESS_TOKEN="races-token", PAYCHECKOUT_PAYOUT_BATCH=4)
    waits_for_others()
    with shop.app.app_context():
        for decision, reference in (told.split() for told in decisions):
            with suppress(TransitionRefused):
                getattr(shop.paycheckout, f"{decision}_payout")(reference, by="Ada", why="at once")
        for _ in range(ROUNDS):
            shop.paycheckout.send_payouts()


if __name__ == "__main__":
    sys.exit(in_processes(main))
