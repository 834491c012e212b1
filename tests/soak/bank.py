"""The actors for payouts outside the shop: the bank, and the person who decides unknown payouts."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from tests.chance import stream
from tests.soak.actor import Actor
from tests.soak.calls import NoAnswer, call, pull
from tests.soak.databases import Reader
from tests.soak.processes import Sandbox

# The percentage of transfers that fail.
_FAILING = 8
_PAUSE = 5.0


class Bank(Actor):
    """Completes the service's pending disbursements now and then, or lets them fail."""

    def __init__(self, sandbox: Sandbox, service: Reader, seed: int) -> None:
        super().__init__()
        self._sandbox = sandbox
        self._service = service
        self._chance = stream(seed, "bank")

    def acts(self) -> None:
        while not self.stopped.wait(_PAUSE):
            self.works()

    def works(self) -> None:
        """Finish every bank transfer that is pending."""
        for disbursement in self._service.rows(
            "SELECT id FROM disbursement WHERE kind = 'fiat' AND status = 'pending'"
        ):
            status = "failed" if self._chance.randrange(100) < _FAILING else "completed"
            with suppress(NoAnswer):
                pull(self._sandbox, "POST", f"disbursements/{disbursement['id']}/finish", {"status": status})


class Bookkeeper:
    """A person who decides unknown payouts by the service's own records, and retries those that failed."""

    def __init__(self, shop_url: str, shop: Reader, service: Reader) -> None:
        self._shop_url = shop_url
        self._shop = shop
        self._service = service

    def works(self) -> None:
        """Decide each unknown payout, and retry each failed one unless the service refused it."""
        for payout in self._rows("unknown"):
            count = self._service.count("disbursement", "reference = :of", of=payout["service_reference"])
            self._decides(payout, "resolve", {"sent": bool(count)})
        for payout in self._rows("failed"):
            # A refused payout would be refused again.
            if "400 Bad Request" not in (payout["problem"] or ""):
                self._decides(payout, "retry", {})

    def _rows(self, status: str) -> list[dict[str, Any]]:
        return self._shop.rows("SELECT * FROM paycheckout_payout WHERE status = :status", status=status)

    def _decides(self, payout: dict[str, Any], what: str, body: dict[str, Any]) -> None:
        with suppress(NoAnswer):
            call("POST", f"{self._shop_url}/payouts/{payout['reference']}/{what}", body)
