"""The sandboxes of a test: in memory, and in a second run on PostgreSQL for tests marked `on_each_database`."""

from __future__ import annotations

from typing import Any

from flask import Flask

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.world.context import world
from tests.repeatable import standing_time
from tests.sandbox.actors import CONTROL_TOKEN, ENDPOINT, Receiver, Tester


def open_sandbox(database: str = "sqlite://", **options: Any) -> Flask:
    """A sandbox that the tester controls, and whose webhooks are accepted."""
    usual: dict[str, Any] = {"webhook_url": ENDPOINT, "send_webhook": Receiver()}
    return create_sandbox(database=database, control_token=CONTROL_TOKEN, **usual | options)


class UsualSandbox:
    """The sandbox with all defaults, which each worker keeps, because a reset is much faster than a new one."""

    def __init__(self, address: str) -> None:
        self._receiver = Receiver()
        self.app = open_sandbox(address, seed=1, send_webhook=lambda *sent: self._receiver(*sent))

    def reset(self, receiver: Receiver) -> Flask:
        """Bring it back to its start state for the next test."""
        self._receiver = receiver
        # A test may have planned faults, and replaced the clock.
        world(self.app).any_fault_added = False
        world(self.app).clock.machine = standing_time()
        Tester(self.app).does("POST", "reset")
        return self.app


def disconnect(app: Flask) -> None:
    world(app).engine.dispose()
