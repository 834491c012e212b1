"""The public address of the shop that a database belongs to, so that a copy of it sends no money and no reminder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import delete, select

from flask_paycheckout.database.connections import begin_limited, read_rows
from flask_paycheckout.database.deeds import record_deed
from flask_paycheckout.database.state_table import insert_in
from flask_paycheckout.wiring import Wiring

# Operations in the table of failing calls that never fail; their `words` are addresses without a scheme.
_OWN, ANOTHER = "public address", "another address"
_UNKNOWN = "an address that it is not told"
# The end of a host name that does not change the address.
_USUAL_END = re.compile(r"\.?(?::(?:80|443))?$")


@dataclass(frozen=True)
class Installation:
    """The installation of one app, and whether its database belongs to it."""

    wiring: Wiring

    @property
    def address(self) -> str | None:
        """The public address of this app, without scheme and default port; None if only requests know it."""
        config = self.wiring.app.config
        public = urlsplit(self.wiring.settings.public_url or "")
        trusted = config.get("TRUSTED_HOSTS") or [""]
        location: str = public.netloc + public.path or config.get("SERVER_NAME") or trusted[0]
        host, slash, path = location.lower().partition("/")
        return _USUAL_END.sub("", host) + slash + path or None

    def stored(self) -> str | None:
        """The public address stored in the database; None until the first round of a shop that has an address."""
        return self._addresses().get(_OWN)

    def is_here(self) -> bool:
        """Whether the database belongs to this app, or to no app yet; otherwise an alarm reports it from now on.

        The first app with an address keeps the database.
        """
        own, addresses = self.address, self._addresses()
        if _OWN not in addresses and own is not None:
            addresses[_OWN] = self._store(_OWN, own)
        if addresses.get(_OWN, own) == own:
            return True
        if ANOTHER not in addresses:
            self._store(ANOTHER, own or _UNKNOWN)
        return False

    def move_here(self, by: str) -> None:
        """Let the database belong to this app from now on, and end the alarm."""
        services, deeds = self.wiring.models.services, self.wiring.models.deeds
        with begin_limited(self.wiring.engine()) as connection:
            connection.execute(delete(services).where(services.c.operation.in_((_OWN, ANOTHER))))
            record_deed(connection, deeds, self.wiring.clock(), by, "moved", self.address or _UNKNOWN)
        self.is_here()

    def _addresses(self) -> dict[str, str]:
        services = self.wiring.models.services
        rows = select(services.c.operation, services.c.words).where(services.c.operation.in_((_OWN, ANOTHER)))
        return dict(map(tuple, read_rows(self.wiring.engine(), rows)))

    def _store(self, operation: str, address: str) -> str:
        """Store an address, unless there is one already; returns the stored one."""
        services, engine = self.wiring.models.services, self.wiring.engine()
        row: dict[str, Any] = {"operation": operation, "words": address, "failing_since": self.wiring.clock()}
        new = insert_in(engine, services).values(account="", count=0, **row)
        upsert = new.on_conflict_do_update(index_elements=["account", "operation"], set_={"words": services.c.words})
        with begin_limited(engine) as connection:
            stored: str = connection.execute(upsert.returning(services.c.words)).scalar_one()
            return stored
