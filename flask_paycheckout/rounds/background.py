"""The part of the runtime that reconciles, sends payouts and audits; web processes seldom use it, and load it then."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

import msgspec
from sqlalchemy import Engine, SingletonThreadPool, StaticPool

from flask_paycheckout.checkouts.due_reads import DueReads
from flask_paycheckout.checkouts.settlement import Settlement
from flask_paycheckout.clock import Clock
from flask_paycheckout.config import Settings
from flask_paycheckout.events.outbox import Outbox
from flask_paycheckout.models import Models
from flask_paycheckout.payouts.calls import PayoutCalls
from flask_paycheckout.payouts.payout_moves import PayoutMoves
from flask_paycheckout.payouts.payout_queue import PayoutQueue
from flask_paycheckout.payouts.rounds import PayoutSender
from flask_paycheckout.payouts.sealing import Sealing
from flask_paycheckout.payouts.stored import Payouts
from flask_paycheckout.rounds.payouts_beside import PayoutsBeside
from flask_paycheckout.rounds.reconcile import Reconciler
from flask_paycheckout.service.accounts import Accounts
from flask_paycheckout.service.logs import FailureLog
from flask_paycheckout.service.observations import Observers
from flask_paycheckout.service.record import ServiceRecord

__all__ = ["Background", "make_background"]


class Background(msgspec.Struct, frozen=True):
    """What works in rounds, and the payouts' calls of the service; `Runtime` has each under the same name."""

    reconciler: Reconciler
    payout_calls: PayoutCalls
    payout_queue: PayoutQueue
    payout_sender: PayoutSender


def make_background(
    engine: Callable[[], Engine],
    models: Models,
    settings: Settings,
    clock: Clock,
    database_clock: Clock,
    log: FailureLog,
    observers: Observers,
    scope: Callable[[], AbstractContextManager[Any]],
    claim: timedelta,
    due_reads: DueReads,
    settlement: Settlement,
    outbox: Outbox,
    accounts: Accounts,
    several_accounts: Callable[[], bool],
    sealing: Sealing,
    record: ServiceRecord,
    payouts: Payouts,
    payout_moves: PayoutMoves,
) -> Background:
    """Put the parts together for one app.

    :param scope: opens an application context of its own.
    :param claim: the time for which a process has a payout that it sends.
    """

    def ask_access_token() -> str:
        # In a context of its own: a round may run in a thread without one.
        with scope():
            return settings.access_token() if callable(settings.access_token) else str(settings.access_token)

    queue = PayoutQueue(engine, models, claim, settings.payout_batch)
    calls = PayoutCalls(accounts, payouts, sealing, record, settings.authorization_scheme)
    sender = PayoutSender(
        payouts,
        queue,
        payout_moves,
        calls,
        outbox,
        record,
        clock,
        database_clock,
        None if settings.access_token is None else ask_access_token,
        log,
        observers,
    )
    beside = PayoutsBeside(
        sender.idle,
        lambda stopped: sender.run_round(stopped=stopped, at_once=False),
        # A connection that all threads share serves one at a time.
        lambda: not isinstance(engine().pool, (StaticPool, SingletonThreadPool)),
        log,
    )
    reconciler = Reconciler(
        due_reads, settlement, outbox, clock, settings.reconcile_readers, several_accounts, beside, log
    )
    return Background(reconciler, calls, queue, sender)
