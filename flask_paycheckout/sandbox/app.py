"""Builds one world of the payments service as a Flask application."""

from __future__ import annotations

import secrets
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from threading import BoundedSemaphore
from typing import Any

from flask import Flask
from werkzeug.middleware.proxy_fix import ProxyFix

from flask_paycheckout.sandbox.auth.endpoints import auth
from flask_paycheckout.sandbox.checkouts.endpoints import checkouts
from flask_paycheckout.sandbox.control import control
from flask_paycheckout.sandbox.control.description import description
from flask_paycheckout.sandbox.control.examples import make_examples
from flask_paycheckout.sandbox.control.hosted_page import health, hosted_page, identity_page
from flask_paycheckout.sandbox.control.sender import SENDER, TICK, WORLD_TICK, WebhookSender
from flask_paycheckout.sandbox.control.start_state import prepare_world
from flask_paycheckout.sandbox.control.worlds import MAX_WORLDS, WORLDS, Databases, Worlds
from flask_paycheckout.sandbox.deposits.transitions import deposits
from flask_paycheckout.sandbox.disbursements.crypto import crypto_disbursements
from flask_paycheckout.sandbox.disbursements.fiat import fiat_disbursements
from flask_paycheckout.sandbox.disbursements.transitions import disbursements
from flask_paycheckout.sandbox.examples import answers_to_examples
from flask_paycheckout.sandbox.hooks import install_hooks
from flask_paycheckout.sandbox.inspector import inspector
from flask_paycheckout.sandbox.outgoing.webhook_sender import MEANING, may_be_called, post_webhook
from flask_paycheckout.sandbox.payments.endpoints import payments
from flask_paycheckout.sandbox.recipients.endpoints import recipients
from flask_paycheckout.sandbox.references.endpoints import references
from flask_paycheckout.sandbox.transfer_proofs import transfer_proofs
from flask_paycheckout.sandbox.wire.callers import OWN_HOSTS, host_of
from flask_paycheckout.sandbox.wire.connection import SandboxApp
from flask_paycheckout.sandbox.world.assumptions import Switches, unknowns_of_environment
from flask_paycheckout.sandbox.world.clock import FROZEN, RUNNING, ClockError, read_clock_option
from flask_paycheckout.sandbox.world.context import EXTENSION_KEY, MAX_HELD, SendWebhook, World, world
from flask_paycheckout.sandbox.world.database import is_memory, make_engine, transaction
from flask_paycheckout.sandbox.world.reach import Reach

MIN_TOKEN = 16
"""The minimum length of the control token if others use the sandbox, since they could guess a shorter one."""
MAX_PROXIES = 5
"""The most proxies in front that can be trusted."""


def create_sandbox(
    *,
    database: str = "sqlite://",
    webhook_url: str | None = None,
    control_token: str | None = None,
    seed: int | str | None = None,
    unknowns: Mapping[str, str] | None = None,
    base_url: str = "http://127.0.0.1:8790",
    send_webhook: SendWebhook | None = None,
    sleep: Callable[[float], None] = time.sleep,
    allow_hosts: Iterable[str] = (),
    allow_remote_control: bool = False,
    allow_remote_webhooks: bool = False,
    clock: str = RUNNING,
    trusted_proxies: int = 0,
    send_in_call: bool | None = None,
    worlds: int = MAX_WORLDS,
) -> Flask:
    """The payments service in its start state, as a WSGI application of its own.

    :param database: a SQLAlchemy URL: SQLite in memory, a SQLite file, or PostgreSQL. If the
        database already holds a sandbox, it continues, with its clock and its seed. Several processes on one database
        are one sandbox, provided that `control_token` and `unknowns` are the same for all of them.
    :param webhook_url: where webhooks of the first account go; None for nowhere until the control interface says so.
    :param control_token: the secret of the control interface; generated when None (`world(app).control_token`).
    :param seed: identifiers follow from the seed, so that they repeat; with None they are random.
    :param unknowns: values of the switches in `world/assumptions.py`, by name; the environment variable
        SANDBOX_UNKNOWNS may set further ones, as `NAME=VALUE NAME=VALUE`.
    :param base_url: the beginning of each checkout's `url`; the sandbox accepts requests to its host.
    :param send_webhook: called as `(url, headers, body)` instead of sending over HTTP; returns the HTTP status of the
        response, or raises OSError when there is none.
    :param sleep: called with seconds to carry out the fault `delay`.
    :param allow_hosts: further host names to answer to.
    :param allow_remote_control: people on other machines use this sandbox, directly or through a proxy. The first
        account's credentials then follow from the control token, which has 16 characters or more, and no webhook goes
        to this machine.
    :param allow_remote_webhooks: let webhooks leave this machine.
    :param clock: `running`; or `frozen`, which stands at the time of the start until it is advanced; or
        `frozen@2026-01-01T00:00:00Z`, which stands at that time.
    :param trusted_proxies: the number of proxies in front, whose `X-Forwarded-For`, `-Proto` and `-Host` are trusted.
    :param send_in_call: True: webhooks and mails are sent within the call that causes them, which makes tests
        repeatable. False: threads send them after it, and make the changes that become due by time. None: True with
        `send_webhook`.
    :param worlds: the most worlds that the control interface makes below `/w/`; see `control/worlds.py`.
    :raises AssumptionError: a switch or value that does not exist.
    :raises ClockError: there is no such clock.
    :raises ValueError: another option cannot be used.
    """
    reach = Reach(
        own_machine=send_webhook is not None or not allow_remote_control,
        others=send_webhook is not None or allow_remote_webhooks,
    )
    if allow_remote_control and control_token is not None and len(control_token) < MIN_TOKEN:
        raise ValueError(f"The control token of a sandbox that others use must have {MIN_TOKEN} characters or more.")
    unknowns = unknowns_of_environment() | dict(unknowns or {})
    if not 0 <= trusted_proxies <= MAX_PROXIES:
        raise ValueError(f"The number of trusted proxies must be from 0 to {MAX_PROXIES}.")
    if worlds < 0:
        raise ValueError("The number of worlds must be 0 or more.")
    if webhook_url is not None and not may_be_called(webhook_url, reach):
        raise ValueError(f"webhook_url must be {MEANING}.")
    # Checked before the database is opened.
    Switches(unknowns), read_clock_option(clock)
    at_once = send_webhook is not None if send_in_call is None else send_in_call
    is_shared = not is_memory(database)
    if clock == FROZEN and is_shared:
        # Further processes and a later start must agree on the time.
        raise ClockError(
            f"With a database that lasts, say at what time the clock stands: {FROZEN}@2026-01-01T00:00:00Z."
        )

    held = BoundedSemaphore(MAX_HELD)

    def make(name: str, url: str, token: str) -> Flask:
        own_seed = None if seed is None else (f"{seed} {name}" if name else str(seed))
        world = World(
            engine=make_engine(url, is_one_of_many=bool(name)),
            clock=read_clock_option(clock),
            unknowns=Switches(unknowns),
            control_token=token or secrets.token_urlsafe(24),
            base_url=base_url.rstrip("/") + (f"/w/{name}" if name else ""),
            send_webhook=send_webhook or partial(post_webhook, reach=reach),
            sleep=sleep,
            shared_database=is_shared,
            has_seed=seed is not None,
            hosts=OWN_HOSTS | {host_of(base_url), *(host.lower() for host in allow_hosts)},
            is_shared=allow_remote_control,
            reach=reach,
            name=name,
            held=held,
            example_answers=_example_answers,
            exists=lambda: not name or name in databases.names(),
        )
        return _assemble(world, own_seed, None if name else webhook_url, at_once=at_once)

    app = make("", database, control_token or "")
    databases = Databases(database, world(app).engine)
    serve: Any = app.wsgi_app
    if worlds:
        serve = app.extensions[WORLDS] = Worlds(serve, databases, make, worlds)
    if trusted_proxies:
        serve = ProxyFix(serve, x_for=trusted_proxies, x_proto=trusted_proxies, x_host=trusted_proxies)
    app.wsgi_app = serve  # type: ignore[method-assign]  # as Flask documents it
    return app


def _example_answers(here: World) -> dict[str, Any]:
    return _answers_under(here.base_url, *sorted((here.unknowns | {"signature": "off"}).items()))


@lru_cache(maxsize=8)
def _answers_under(base_url: str, *unknowns: tuple[str, str]) -> dict[str, Any]:
    """Cached, because the answers are the same for all sandboxes with these switches."""
    options: dict[str, Any] = {"seed": "examples", "clock": f"{FROZEN}@2026-01-01T00:00:00Z", "worlds": 0}
    sandbox = create_sandbox(base_url=base_url, unknowns=dict(unknowns), send_webhook=lambda *sent: 200, **options)
    return answers_to_examples(sandbox)


def _assemble(world: World, seed: str | None, webhook_url: str | None, *, at_once: bool) -> Flask:
    app = SandboxApp(__name__)
    # A path with a doubled slash does not exist. Flask would redirect it, without the envelope.
    app.url_map.merge_slashes = False
    # OPTIONS is no operation either; `cross_origin` answers browsers that ask about quotes.
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False
    app.extensions[EXTENSION_KEY] = world
    install_hooks(app)
    app.before_request(make_examples)
    blueprints = (
        auth,
        recipients,
        checkouts,
        deposits,
        fiat_disbursements,
        transfer_proofs,
        crypto_disbursements,
        disbursements,
        payments,
        references,
        control,
        hosted_page,
        identity_page,
        inspector,
        description,
        health,
    )
    app.register_blueprints(blueprints)
    try:
        with app.app_context(), transaction(exclusive=True) as session:
            # A persistent database may hold a sandbox already, even for a world that is just being created: another
            # process may have created it first.
            prepare_world(session, world, seed, webhook_url, is_new=not world.shared_database)
    finally:
        if world.shared_database:
            # A server that loads the application before it forks must not share this connection with its workers.
            world.engine.dispose()
    # Close the connections of an application that is garbage-collected, instead of leaving that to the driver.
    weakref.finalize(app, world.engine.dispose)
    if not at_once:
        sender = app.extensions[SENDER] = WebhookSender(app, WORLD_TICK if world.name else TICK)
        world.wake = sender.wake
        if world.shared_database:
            # Send the webhooks that were due when the previous process ended, even if no call causes more.
            app.before_request(sender.begin)
    return app
