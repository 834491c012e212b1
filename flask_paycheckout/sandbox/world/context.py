"""The `World` of a sandbox: its settings and instruments, found by the current application and never in globals."""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from threading import BoundedSemaphore
from typing import Any, cast

from flask import Flask, current_app
from sqlalchemy import Engine

from flask_paycheckout.sandbox.world.assumptions import Switches
from flask_paycheckout.sandbox.world.clock import Clock
from flask_paycheckout.sandbox.world.reach import Reach

EXTENSION_KEY = "paycheckout_sandbox"

MAX_HELD = 48
"""The most calls that wait on purpose at the same time, in all worlds of a process."""

SendWebhook = Callable[[str, dict[str, str], bytes], int]


@dataclass
class World:
    """Settings and instruments of a sandbox."""

    engine: Engine
    clock: Clock
    unknowns: Switches
    control_token: str = field(repr=False)
    """The token of a named world is stored in its database, so that it outlives the process."""
    base_url: str
    send_webhook: SendWebhook
    sleep: Callable[[float], None]
    shared_database: bool
    """False for a database in this process's memory, where no other process can change clock and fault plan."""
    hosts: frozenset[str]
    """Host names, without port, that this sandbox answers to."""
    is_shared: bool
    """Whether people of other machines use it."""
    reach: Reach
    has_seed: bool
    name: str
    """The name of this world among several in a process; empty for the operator's."""
    held: BoundedSemaphore
    """Slots for calls that wait on purpose."""
    example_answers: Callable[[World], dict[str, Any]]
    """The answers of a new sandbox with the same switches to the examples of the OpenAPI document, by operation."""
    exists: Callable[[], bool]
    """Whether its database is still there; another process may have removed a named world."""
    wake: Callable[[], None] | None = field(default=None, init=False)
    """Makes threads send due webhooks and mails; None if the call that causes them sends them."""
    counted_minute: int = field(default=0, init=False)
    calls: Counter[str] = field(default_factory=Counter, init=False, repr=False)
    """How many calls each caller made in that minute; by their credentials."""
    any_fault_added: bool = False
    """Whether this process has added a fault. This and `has_seed` save queries where no other process has the database.
    """

    @property
    def may_have_faults(self) -> bool:
        """Whether there can be planned faults, so that a query for them is necessary."""
        return self.shared_database or self.any_fault_added

    @property
    def counts_ids(self) -> bool:
        """False when identifiers are random, so that they need not be counted."""
        return self.shared_database or self.has_seed

    def is_control_token(self, presented: str) -> bool:
        return hmac.compare_digest(presented.encode(), self.control_token.encode())


def world(app: Flask | None = None) -> World:
    """The world of an application, by default the current one."""
    extensions = (app or current_app).extensions
    return cast("World", extensions[EXTENSION_KEY])


def current_time() -> datetime:
    """The virtual time of the current world."""
    return world().clock.now()


def assumption(name: str) -> str:
    """The value of an assumption in the current world."""
    return world().unknowns[name]


def sandbox_clock(app: Flask) -> Callable[[], datetime]:
    """The virtual clock of a sandbox in this process: a function that returns the current time in UTC."""
    return world(app).clock.now
