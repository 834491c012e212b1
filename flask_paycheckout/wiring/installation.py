"""The installation that a database belongs to: its public address, and the key of its service references.

A copy of the database at another address sends no money and no reminder.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Connection, Table, delete, select

from flask_paycheckout.config import Settings
from flask_paycheckout.database.connections import begin_limited, read_rows
from flask_paycheckout.database.deeds import record_deed
from flask_paycheckout.database.state_table import insert_in
from flask_paycheckout.wiring import Wiring

# The facts; addresses are stored without a scheme.
_OWN, ANOTHER, _KEY = "public address", "another address", "key"
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
        location: str = public.netloc + public.path or config.get("SERVER_NAME") or trusted_host(config)
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
        facts, deeds = self.wiring.models.installation, self.wiring.models.deeds
        with begin_limited(self.wiring.engine()) as connection:
            connection.execute(delete(facts).where(facts.c.fact.in_((_OWN, ANOTHER))))
            record_deed(connection, deeds, self.wiring.clock(), by, "moved", self.address or _UNKNOWN)
        self.is_here()

    def _addresses(self) -> dict[str, str]:
        facts = self.wiring.models.installation
        rows = select(facts.c.fact, facts.c.value).where(facts.c.fact.in_((_OWN, ANOTHER)))
        return dict(map(tuple, read_rows(self.wiring.engine(), rows)))

    def _store(self, fact: str, address: str) -> str:
        with begin_limited(self.wiring.engine()) as connection:
            return _stored_once(connection, self.wiring.models.installation, fact, address, self.wiring.clock())


def trusted_host(config: Mapping[str, Any]) -> str:
    """The first of TRUSTED_HOSTS, which Werkzeug also accepts as one string or as a set; empty without any."""
    hosts: str | Collection[str] = config.get("TRUSTED_HOSTS") or ""
    if isinstance(hosts, str):
        return hosts
    # Each process has another order of a set.
    return (hosts if isinstance(hosts, Sequence) else sorted(hosts))[0]


def request_base(settings: Settings, config: Mapping[str, Any]) -> str | None:
    """The base of the requests that we make ourselves, on a host that the shop trusts; None for Flask's default."""
    # A dot at the beginning allows all subdomains, and the host itself.
    host = trusted_host(config).removeprefix(".")
    return settings.public_url or (f"http://{host}" if host and not config.get("SERVER_NAME") else None)


def installation_key(connection: Connection, facts: Table) -> bytes:
    """The key of the installation, which the first caller creates in its own transaction.

    :param facts: the table of `database.installation_table`.
    """
    key = connection.execute(select(facts.c.value).where(facts.c.fact == _KEY)).scalar_one_or_none()
    return bytes.fromhex(key or _stored_once(connection, facts, _KEY, secrets.token_hex(32)))


def _stored_once(connection: Connection, facts: Table, fact: str, value: str, since: datetime | None = None) -> str:
    """Store a fact, unless it is stored already; returns the stored value."""
    inserting = insert_in(connection, facts).values(fact=fact, value=value, since=since)
    keeping = inserting.on_conflict_do_update(index_elements=["fact"], set_={"value": facts.c.value})
    stored: str = connection.execute(keeping.returning(facts.c.value)).scalar_one()
    return stored
