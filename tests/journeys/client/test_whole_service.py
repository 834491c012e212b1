"""The client and the sandbox, each written from the interface alone, agree about every operation."""

from __future__ import annotations

import asyncio

import pytest
from flask import Flask, request, request_started

from flask_paycheckout import Pay
from flask_paycheckout.client import AsyncPaymentsClient
from flask_paycheckout.testing import Sandbox
from tests.journeys.client.conftest import SetUp
from tests.journeys.client.stories import STORIES
from tests.journeys.unknowns import settings, signer_of

pytestmark = pytest.mark.filterwarnings(r"ignore:client\.:DeprecationWarning")


# Each of these would hide effects of the others; all other switches are changed together.
SETTINGS = settings(alone=("http_status", "signature", "absent_fields", "unspecified_messages", "access_scheme"))

# The interface has two forms of these: deleting by path and by query, and the list of payments under two paths.
SECOND_FORMS = {("DELETE", "/v1/recipient"), ("GET", "/v2/payment")}


def test_each_part_works_in_process_and_the_stories_leave_no_operation_out(set_up: SetUp) -> None:
    desk = set_up()
    called: set[tuple[str, str]] = set()

    def note(app: Flask) -> None:
        if request.url_rule is not None and request.path.startswith("/v"):
            called.add((request.method, request.url_rule.rule))

    with request_started.connected_to(note, desk.sandbox.app):
        for story in STORIES:
            story(desk)
    offered = {
        (method, rule.rule)
        for rule in desk.sandbox.app.url_map.iter_rules()
        if rule.rule.startswith("/v")
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    assert called == offered - SECOND_FORMS
    assert len(called) == 28


@pytest.mark.parametrize("unknowns", SETTINGS.values(), ids=list(SETTINGS))
def test_the_client_works_with_each_choice_that_the_interface_leaves_open(
    set_up: SetUp, unknowns: dict[str, str]
) -> None:
    desk = set_up(**unknowns)
    for story in STORIES:
        story(desk)


def test_calls_that_are_awaited_at_once_each_get_their_answer(paycheckout_sandbox: Sandbox) -> None:
    async def starts() -> list[str]:
        client = AsyncPaymentsClient(
            paycheckout_sandbox.base_url,
            signer=signer_of({}),
            transport=paycheckout_sandbox.async_transport,
            timeout=60,
        )
        async with client:
            calls = [client.checkouts.create(Pay(amount, "USD")) for amount in (12, 20)]
            return [link.id for link in await asyncio.gather(*calls)]

    links = asyncio.run(starts())
    assert [paycheckout_sandbox.pay(link)["deposit"]["inputAmount"] for link in links] == [12, 20]
