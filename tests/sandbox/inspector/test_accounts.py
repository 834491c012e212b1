"""With several accounts, each row tells whose it is, and `?account=` shows those of one."""

from __future__ import annotations

import pytest
from flask import Flask

from tests.sandbox.actors import ACCOUNTS_URL, Tester
from tests.sandbox.auth.visitors import Visitor
from tests.sandbox.disbursements.payers import Payer
from tests.sandbox.inspector.developer import Developer
from tests.sandbox.payments.customers import makes

LISTS = ("/", *(f"/inspector/{name}" for name in ("requests", "mails", "webhooks")))


@pytest.fixture
def made(sandbox: Flask, tester: Tester, payer: Payer) -> dict[str, set[str]]:
    """The ids that each account has on the pages, after it did something in each part of the service."""
    shown = tester.makes_account("anna", webhookUrl=ACCOUNTS_URL)
    anna = Payer(sandbox, shown["clientSecret"], shown["clientId"])
    anna.access_token = shown["accessToken"]
    found = {}
    for name, merchant in (("default", payer), ("anna", anna)):
        recipient = merchant.calls("GET", "/v1/recipient?currency=USD").data["docs"][0]["id"]
        paid = merchant.makes_checkout()
        tester.pays(paid)
        email, password = (tester.does("GET", f"accounts/{name}")[field] for field in ("email", "password"))
        Visitor(sandbox).begins(email, password)
        found[name] = {email, paid, merchant.sends_one(), makes(merchant, receiverId=recipient)}
    return found


@pytest.mark.each_database
def test_each_list_is_filtered_by_account(made: dict[str, set[str]], developer: Developer) -> None:
    everything = {name: set(ids) for name, ids in made.items()}
    for path in LISTS:
        both = developer.opens(path)
        # Mails tell whose they are by their address.
        assert ("anna" in developer.reads(path)) is (path != "/inspector/mails")
        for name, other in (("anna", "default"), ("default", "anna")):
            page = developer.opens(f"{path}?account={name}")
            assert [key for key in made[other] if key in page] == []
            seen = {key for key in made[name] if key in page}
            assert seen == {key for key in made[name] if key in both}
            everything[name] -= seen
    assert everything == {"anna": set(), "default": set()}
