"""Sends webhooks and mails after the calls that cause them, in threads, and makes the changes that time makes.

Waiting messages are in the database, and a call only wakes the thread that reads them. Nothing is lost if the process
ends between a commit and the sending: the next process on this database sends it.
"""

from __future__ import annotations

import os
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from threading import Event, Lock, Thread
from time import monotonic, sleep

from flask import Flask
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.deposits.transitions import expire_due
from flask_paycheckout.sandbox.disbursements.transitions import settle_due
from flask_paycheckout.sandbox.outgoing.webhooks import (
    Webhook,
    claim_webhook,
    deliver,
    is_any_waiting,
    is_in_turn,
    send_due,
)
from flask_paycheckout.sandbox.payments.tables import progress_due
from flask_paycheckout.sandbox.world.context import current_time, world
from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.settings import follow

RESULT_SECONDS = 0.5
"""Seconds that a tester's call waits for the results of the webhooks that are due."""


def run_due() -> None:
    """Run everything that is due by the virtual clock; must be called outside of a transaction."""
    with transaction() as session:
        pass_time(session)
    send_and_wait()


def send_and_wait() -> None:
    """Have due webhooks sent, and wait briefly for their results; must be called outside of a transaction.

    Used for actions of testers and customers, so that a test finds the webhooks sent. The calls of the service wait for
    no receiver, since a shop with one worker would wait for itself.
    """
    send_due()
    end = monotonic() + RESULT_SECONDS
    while world().wake is not None and is_any_waiting(Webhook.due_at <= current_time()) and monotonic() < end:
        sleep(0.01)


def pass_time(session: Session) -> None:
    """Make the changes that are due by time, such as expired deposits; webhooks and mails are stored, not sent here."""
    # Another process may have advanced the clock, changed a switch, or reset the sandbox.
    follow(session, world())
    expire_due(session)
    settle_due(session)
    progress_due(session)


SENDER = "paycheckout_sandbox_sender"
"""Key of the `WebhookSender` among an application's extensions."""
TICK, WORLD_TICK = 1.0, 30.0
"""Seconds between two checks for due work without requests; a named world, one of many, is checked less often."""
MAX_SENDING = 32
"""The most webhooks that a process sends at the same time."""
MAX_OF_ACCOUNT = 4
"""The most webhooks that it sends to one account at the same time, so that a hanging receiver delays no other."""
STOP_SECONDS = 2.0
"""Seconds that the thread, and then the webhooks that are being sent, may take when the sandbox stops."""


class WebhookSender:
    """Sends the due webhooks of one application, in threads of the process that first needs them."""

    def __init__(self, app: Flask, tick: float) -> None:
        self._app, self._tick = weakref.ref(app), tick
        self._lock = Lock()
        self._process: int | None = None

    def wake(self) -> None:
        """Have due messages sent soon."""
        self.begin()
        self._woken.set()

    def begin(self) -> None:
        """Start the thread that sends due messages, unless it runs in this process."""
        with self._lock if self._process != os.getpid() else nullcontext():
            if self._process == os.getpid():
                return
            # Made here: a forked process would have copies of its parent's, and a copied lock may stay locked for ever.
            self._woken, self._stopped = Event(), Event()
            self._sending: set[Webhook] = set()
            self._thread = Thread(target=self._run, name="sandbox-sender", daemon=True)
            self._thread.start()
            # Set last, so that a concurrent `stop`, such as when a world is removed, finds no unstarted thread.
            self._process = os.getpid()

    def stop(self) -> None:
        """Stop the thread of this process, and wait for it; messages that are being sent are finished."""
        if self._process == os.getpid():
            self._stopped.set()
            self._woken.set()
            self._thread.join(STOP_SECONDS)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the thread until the end of the context."""
        self.begin()
        try:
            yield
        finally:
            self.stop()
            end = monotonic() + STOP_SECONDS
            while self._sending and monotonic() < end:
                sleep(0.01)

    def _run(self) -> None:
        tick = monotonic()
        while True:
            # Cleared before reading due messages, so that a wake-up in the meantime is not lost.
            self._woken.clear()
            app = self._app()
            if app is None or self._stopped.is_set():
                return
            is_time = monotonic() >= tick
            if is_time:
                tick = monotonic() + self._tick
            try:
                with app.app_context():
                    if is_time:
                        with transaction() as session:
                            pass_time(session)
                    while not self._stopped.is_set() and (webhook := self._claim()) is not None:
                        self._begin_delivery(app, webhook)
            except Exception:
                if not world(app).exists():
                    return
                # A temporary failure of the database must not stop retries for good.
                app.logger.exception("What fell due could not be run; it is tried again.")
            # Waiting must not keep an application alive that nobody uses any more.
            del app
            self._woken.wait(max(0.0, tick - monotonic()))

    def _begin_delivery(self, app: Flask, webhook: Webhook) -> None:
        self._sending.add(webhook)
        try:
            Thread(target=self._deliver, args=(app, webhook), name="sandbox-webhook", daemon=True).start()
        except RuntimeError:
            # The claim expires, and the webhook is sent then.
            self._sending.discard(webhook)
            raise

    def _claim(self) -> Webhook | None:
        """Claim the next webhook, within the limits of webhooks that are being sent, in total and to its account."""
        sending = Counter(webhook.user_id for webhook in list(self._sending))
        if sending.total() >= MAX_SENDING:
            return None
        busy = [user_id for user_id, count in sending.items() if count >= MAX_OF_ACCOUNT]
        return claim_webhook(is_in_turn(), Webhook.user_id.not_in(busy))

    def _deliver(self, app: Flask, webhook: Webhook) -> None:
        try:
            with app.app_context():
                deliver(webhook)
        except Exception:
            # The claim expires, and the webhook is sent again.
            app.logger.exception("A webhook could not be sent; it is tried again.")
        finally:
            self._sending.discard(webhook)
            self._woken.set()
