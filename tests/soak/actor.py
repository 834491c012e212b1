"""An actor outside the shop, which runs in a thread until the run stops all actors."""

from __future__ import annotations

import threading


class Stopped(Exception):
    """The run is over; raised in an actor's thread."""


class Actor:
    """
    :ivar failure: the error that ended it, if any.
    """

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=type(self).__name__, daemon=True)

    def acts(self) -> None:
        """Act until `stopped` is set."""
        raise NotImplementedError

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop the actor, and wait until its current act has ended."""
        self.stopped.set()
        if self._thread.is_alive():
            self._thread.join(60)

    def _run(self) -> None:
        try:
            self.acts()
        except Exception as failure:
            self.failure = failure
