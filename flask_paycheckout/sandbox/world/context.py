"""What belongs to one sandbox, and how its code finds it. Nothing of a world lives in a module's globals."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from flask import Flask, current_app

from flask_paycheckout.sandbox.world.clock import Clock

EXTENSION_KEY = "paycheckout_sandbox"

WebhookSender = Callable[[str, dict[str, str], bytes], int]
MailSender = Callable[[str, str, str], None]


@dataclass
class Trouble:
    """What this process knows about the fault plan without a look into the database."""

    #: Whether a fault was ever ordered here.
    was_ordered: bool = False


@dataclass(frozen=True)
class World:
    """The settings and instruments of one sandbox."""

    clock: Clock
    unknowns: Mapping[str, str]
    control_token: str
    base_url: str
    send_webhook: WebhookSender
    sleep: Callable[[float], None]
    #: False while the database is this process's own memory: then nobody else can have moved the clock.
    shared_database: bool
    #: False where ids are known to be random, so that nobody has to count them.
    counts_ids: bool
    #: Host names, without port, that browsers and clients may call this sandbox by.
    hosts: frozenset[str]
    allow_remote_control: bool = False
    #: Delivers a mail over SMTP; None where mails are only listed.
    send_mail: MailSender | None = None
    #: Whether webhooks may only go to this machine.
    loopback_webhooks_only: bool = True
    trouble: Trouble = field(default_factory=Trouble)

    @property
    def may_have_faults(self) -> bool:
        """Whether the fault plan is worth a look; in this process's own memory nobody else can have ordered one."""
        return self.shared_database or self.trouble.was_ordered

    def is_control_token(self, presented: str) -> bool:
        return hmac.compare_digest(presented.encode(), self.control_token.encode())


def world(app: Flask | None = None) -> World:
    """The world of the given application, or of the current one."""
    extensions = (app or current_app).extensions
    return cast("World", extensions[EXTENSION_KEY])


def assumption(name: str) -> str:
    """The value of one switch in the current world."""
    return world().unknowns[name]


def sandbox_clock(app: Flask) -> Callable[[], datetime]:
    """The virtual clock of a sandbox in this process, as a callable giving the aware UTC now."""
    return world(app).clock.now
