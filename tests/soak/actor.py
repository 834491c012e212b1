"""Somebody who acts beside the shop, in a thread until the run stops everybody."""

from __future__ import annotations

import threading


class Stopped(Exception):
    """The run is over for whoever acts."""


class Actor:
    """
    :ivar failure: what ended it, if it did not end well.
    """

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=type(self).__name__, daemon=True)

    def acts(self) -> None:
        """All that it does, until `stopped` is set."""
        raise NotImplementedError

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """No more; what was begun has ended when this returns."""
        self.stopped.set()
        if self._thread.is_alive():
            self._thread.join(60)

    def _run(self) -> None:
        try:
            self.acts()
        except Exception as failure:
            self.failure = failure
