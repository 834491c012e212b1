"""Kills processes of the shop at random moments, and starts them again."""

from __future__ import annotations

import time

from tests.chance import stream
from tests.soak.actor import Actor
from tests.soak.calls import NoAnswer, pull
from tests.soak.processes import RECONCILE, WEB, Processes, Sandbox

_LONGEST_GAP = 30.0


class Killer(Actor):
    """Kills a number of processes over a span of time, or longer if necessary.

    :param span: machine seconds over which the kills are spread.
    :param webhook_path: the path of the webhook in a web process.
    """

    def __init__(
        self, processes: Processes, sandbox: Sandbox, kills: int, span: float, seed: int, webhook_path: str
    ) -> None:
        super().__init__()
        self._processes = processes
        self._sandbox = sandbox
        self._kills = kills
        self._span = span
        self._chance = stream(seed, "killer")
        self._webhook_path = webhook_path
        #: The number of killed processes.
        self.count = 0

    @property
    def done(self) -> bool:
        return self.count >= self._kills

    def acts(self) -> None:
        until = time.monotonic() + self._span
        while not self.done and not self.stopped.wait(self._gap(until)):
            self._kill_one()

    def _gap(self, until: float) -> float:
        """An exponential time to the next kill, as for independent events; kills that are late catch up."""
        mean = max(until - time.monotonic(), 0.05) / (self._kills - self.count)
        return min(self._chance.expovariate(1 / mean), _LONGEST_GAP)

    def _kill_one(self) -> None:
        name = self._chance.choice(WEB + RECONCILE)
        self._processes.kill(name)
        self.count += 1
        if self._chance.random() < 0.5:
            # A process manager mostly restarts quickly; sometimes the shop lacks a process for a while.
            time.sleep(self._chance.choice((0.05, 0.2, 1.0)))
        self._processes.start(name)
        self.point_webhooks(self._chance.choice(WEB))

    def point_webhooks(self, name: str) -> None:
        """Send webhooks to this web process; the process changes, so that each gets some."""
        try:
            url = self._processes.url(name) + self._webhook_path
            pull(self._sandbox, "PUT", "webhook-endpoint", {"url": url})
        except NoAnswer:
            return  # the other process still gets them for a while
