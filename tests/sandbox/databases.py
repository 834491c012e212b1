"""Where the sandboxes of a test live: in memory, and in a second run on PostgreSQL for tests marked `each_database`.

Making a sandbox costs several times as much as resetting it. So each worker keeps the usual sandbox of each place, and
resets it for the next test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from flask import Flask

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import db
from tests.repeatable import standing_time
from tests.sandbox.actors import CONTROL_TOKEN, ENDPOINT, Receiver, Tester

MEMORY = "memory"
POSTGRESQL = "postgresql"


class Place:
    """One address, where one sandbox at a time lives."""

    def __init__(self, address: str) -> None:
        self.address, self.receiver = address, Receiver()
        self.usual: Flask | None = None
        """The sandbox with every unknown at its default, when one was asked for before."""

    def open(self, receiver: Receiver, unknowns: dict[str, str]) -> Flask:
        """A sandbox in its start state."""
        self.receiver = receiver
        app = None if unknowns else self.usual
        if app is not None:
            # A test may have planned faults.
            world(app).any_fault_added = False
        else:
            app = create_sandbox(
                database=self.address,
                control_token=CONTROL_TOKEN,
                seed=1,
                webhook_url=ENDPOINT,
                send_webhook=lambda *sent: self.receiver(*sent),
                unknowns=unknowns,
            )
            self.usual = self.usual if unknowns else app
        # Nor does the clock's source stay that a test has set.
        world(app).clock.machine = standing_time()
        Tester(app).does("POST", "reset")
        return app


class KeptPlaces:
    """The places of one worker: the first is where every test's first sandbox lives, and so on."""

    def __init__(self, new_address: Callable[[], str]) -> None:
        self._new_address = new_address
        self._places: list[Place] = []

    def __iter__(self) -> Iterator[Place]:
        yield from self._places
        while True:
            self._places.append(Place(self._new_address()))
            yield self._places[-1]

    def close(self) -> None:
        for place in self._places:
            if place.usual is not None:
                disconnect(place.usual)


def disconnect(app: Flask) -> None:
    with app.app_context():
        db.engine.dispose()
