"""The app's runtime, as each call of a shop gets it: after a look at what the shop's session holds open."""

from __future__ import annotations

from abc import ABC, abstractmethod

from flask_paycheckout.database.shop_session import allow_reading, refuse_uncommitted
from flask_paycheckout.runtime import Runtime

__all__ = ["OperationsBase"]


class OperationsBase(ABC):
    """Calls of one app's shop."""

    @property
    @abstractmethod
    def _runtime(self) -> Runtime:
        """The app's runtime, whose parts do the work."""

    def _beside_session(self, call: str) -> Runtime:
        """The runtime, for a call that writes on a connection of its own, not the shop's session's.

        :raises UncommittedChanges: `db.session` holds changes that are not committed, and SQLite has one writer.
        """
        refuse_uncommitted(self._runtime.db, call, only_if_blocking=True)
        return self._runtime

    def _for_reading(self, call: str) -> Runtime:
        """The runtime, for a call that reads; end an open transaction of the shop that would block it.

        :raises UncommittedChanges: that transaction has written something.
        """
        allow_reading(self._runtime.db, call, self._runtime.engine())
        return self._runtime
