"""Webhooks and mails are sent once, after the call that causes them, despite dying processes and hanging receivers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from socket import create_server
from threading import Event
from time import monotonic

import pytest
from flask import Flask

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.control.sender import MAX_OF_ACCOUNT, SENDER, WebhookSender
from flask_paycheckout.sandbox.world.context import world
from tests.sandbox.actors import CONTROL_TOKEN, Merchant, Receiver, Tester
from tests.sandbox.databases import disconnect, open_sandbox
from tests.sandbox.stations import PATIENCE, ROOT, Shop, gunicorn
from tests.waiting import eventually


def sender_of(app: Flask) -> WebhookSender:
    sender: WebhookSender = app.extensions[SENDER]
    return sender


@contextmanager
def made(receiver: Receiver) -> Iterator[Flask]:
    """A sandbox whose webhooks are sent by threads."""
    app = open_sandbox(send_webhook=receiver, send_in_call=False)
    with sender_of(app).running():
        yield app
    disconnect(app)


def delivered(app: Flask) -> list[str]:
    return [webhook["orderId"] for webhook in Tester(app).webhooks() if webhook["state"] == "delivered"]


class Slow(Receiver):
    """A receiver that answers only when the test allows it."""

    def __init__(self) -> None:
        super().__init__()
        self.goes_on = Event()
        self.reacts = lambda payload: self.goes_on.wait(PATIENCE)


def test_before_response_still_overtakes_the_answer() -> None:
    receiver = Receiver()
    with made(receiver) as app:
        for _ in range(5):
            Tester(app).orders_fault("webhook", "before_response")
            checkout = Merchant(app).makes_checkout()
            assert receiver.order_ids[-1:] == delivered(app)[-1:] == [checkout]


def test_receivers_that_hang_delay_others_by_two_seconds_at_most() -> None:
    """Two endpoints never answer, and each has more due webhooks than the sender sends at the same time."""
    shop = Shop()
    app = create_sandbox(control_token=CONTROL_TOKEN)
    with ExitStack() as until, sender_of(app).running(), shop.running():
        hanging = [until.enter_context(create_server(("127.0.0.1", 0))) for _ in range(2)]
        urls = [*(f"http://127.0.0.1:{door.getsockname()[1]}" for door in hanging), shop.url]
        makes = Tester(app).makes_account
        accounts = [makes(f"a{number}", webhookUrl=url) for number, url in enumerate(urls)]
        merchants = [Merchant(app, account["clientSecret"], account["clientId"]) for account in accounts]
        for merchant in [*merchants[:2] * (MAX_OF_ACCOUNT + 1), merchants[2]]:
            checkout = merchant.makes_checkout()
            Tester(app).picks(checkout)
            merchant.forces_status(checkout)
        begun = monotonic()
        eventually(lambda: shop.order_ids == [checkout])
        assert monotonic() - begun < 2


def test_webhooks_about_one_order_are_sent_one_after_the_other() -> None:
    receiver = Slow()
    with made(receiver) as app:
        checkout = Merchant(app).makes_checkout()
        Tester(app).picks(checkout)
        for status in ("failed", "completed"):
            Merchant(app).forces_status(checkout, status)
        eventually(lambda: receiver.order_ids == [checkout])
        # Another webhook overtakes the second one, which waits until the first has ended.
        another = Merchant(app).makes_checkout()
        Tester(app).pays(another)
        eventually(lambda: receiver.order_ids == [checkout, another])
        receiver.goes_on.set()
        eventually(lambda: receiver.order_ids == [checkout, another, checkout])
        eventually(lambda: len(delivered(app)) == 3)


def test_a_webhook_that_falls_due_by_time_alone_is_sent() -> None:
    receiver = Receiver()
    receiver.answers = [500]
    with made(receiver) as app:
        Tester(app).pays(Merchant(app).makes_checkout())
        eventually(lambda: len(Tester(app).webhooks()[0]["attempts"]) == 1)
        world(app).clock.offset += timedelta(seconds=61)
        eventually(lambda: len(receiver.received) == 2)


def test_a_bad_moment_is_outlived() -> None:
    receiver, failures = Receiver(), [ZeroDivisionError(), ZeroDivisionError()]

    def fails(payload: object) -> None:
        if failures:
            raise failures.pop()

    receiver.reacts = fails
    with made(receiver) as app:
        app.logger.disabled = True
        checkout = Merchant(app).makes_checkout()
        Tester(app).pays(checkout)
        eventually(lambda: len(failures) == 1)
        # The claim has not expired yet.
        for _ in range(2):
            Tester(app).asks("POST", f"webhooks/{Tester(app).webhooks()[0]['id']}/redeliver")
            eventually(lambda: not failures)
        eventually(lambda: delivered(app) == [checkout])


@pytest.mark.slow("programs")
def test_a_process_that_is_killed_between_commit_and_sending_loses_nothing(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'world.db'}"
    shop = Shop()
    with shop.running():
        killed = f"""
import os, signal
from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.control.sender import WebhookSender
from tests.sandbox.actors import CONTROL_TOKEN, Merchant, Tester
WebhookSender.wake = lambda self: os.kill(os.getpid(), signal.SIGKILL)
WebhookSender.begin = lambda self: None
app = create_sandbox(database={database!r}, webhook_url={shop.url!r}, control_token=CONTROL_TOKEN)
checkout = Merchant(app).makes_checkout()
print(checkout, flush=True)
Tester(app).pays(checkout)
"""
        died = subprocess.run([sys.executable, "-c", killed], cwd=ROOT, capture_output=True, text=True, check=False)
        assert (died.returncode, died.stderr, shop.order_ids) == (-9, "", [])
        with gunicorn(1, database, shop.url) as (after,):
            after.test_client().open("/health", method="GET")
            eventually(lambda: shop.order_ids == [died.stdout.strip()])
