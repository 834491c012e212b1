"""The search box: what it finds, by what, whose, and how much work that is."""

from __future__ import annotations

import re
from decimal import Decimal
from urllib.parse import quote, urlencode

import pytest
from flask import Flask

from flask_paycheckout.sandbox.inspector.lookups import MAX_FOUND, Amount, read_amount
from tests.sandbox.actors import ACCOUNTS_URL, Merchant, Tester
from tests.sandbox.auth.visitors import EMAIL, Visitor
from tests.sandbox.crowds import FEWER, ROWS, id_of
from tests.sandbox.disbursements.payers import RECIPIENTS, Payer, given
from tests.sandbox.inspector.developer import Developer
from tests.sandbox.payments.customers import makes
from tests.sandbox.plans import plan_of

KINDS = ("checkouts", "deposits", "disbursements", "payments", "recipients", "accounts")


def found(developer: Developer, text: str, **filters: str) -> set[str]:
    """What the search finds, as the ends of its links; calls are left out."""
    page = developer.opens(f"/inspector/search?{urlencode({'q': text} | filters)}")
    listed = page.partition('<div id="live">')[2]
    return set(
        re.findall(rf'<td data-label="Found"><a class="code" href="/inspector/((?:{"|".join(KINDS)})/[^"]+)"', listed)
    )


@pytest.fixture
def made(sandbox: Flask, tester: Tester, payer: Payer, merchant: Merchant) -> dict[str, str]:
    """One of each kind."""
    paid = merchant.makes_checkout(Decimal("12.50"))
    tester.picks(paid, reference="Order 7/ä")
    tester.pays(paid)
    return {
        "paid": paid,
        "left": merchant.makes_checkout(Decimal("7.07")),
        "fiat": payer.pays_one(Decimal("12.5"), reference="salary_100%"),
        "given": str(
            payer.pays({"amount": 30, "recipient": given(name="Zoë")}).data["disburseData"][0]["disbursementId"]
        ),
        "crypto": payer.sends_one(amount=Decimal("12.500000")),
        "payment": makes(merchant, senderEmail="Sam@Example.com", inputAmount=100),
    }


@pytest.mark.each_database
def test_it_finds_by_ids_references_addresses_and_amounts(made: dict[str, str], developer: Developer) -> None:
    checkout, deposit = f"checkouts/{made['paid']}", f"deposits/{made['paid']}"
    fiat, crypto = f"disbursements/{made['fiat']}", f"disbursements/{made['crypto']}"
    ada = f"recipients/{RECIPIENTS['USD']}"
    assert found(developer, made["paid"]) == {checkout, deposit}
    assert found(developer, f" {made['paid'].upper()[:10]} ") == {checkout, deposit}
    assert found(developer, made["paid"][:5]) == set()
    assert found(developer, "Order 7") == found(developer, "Order 7/ä") == {deposit}
    assert found(developer, "rder 7") == set()
    assert found(developer, "salary_1") == {fiat}
    # Neither is a wildcard.
    assert found(developer, "salary%") == found(developer, "salary1") == set()
    for amount in ("12.5", "12.50", "12.500000000000000000", "0012.5"):
        assert found(developer, amount) == {checkout, deposit, fiat, crypto}
    assert found(developer, "12.50 USD") == found(developer, "12.5\N{NO-BREAK SPACE}usd") == {checkout, deposit, fiat}
    assert found(developer, "12.5 usdc-polygon") == {crypto}
    assert found(developer, "12.51") == found(developer, "1.25") == found(developer, "125") == set()
    assert found(developer, ".07") == set()
    assert found(developer, "7.070") == {f"checkouts/{made['left']}"}
    assert found(developer, "ADA@") >= {ada}
    assert found(developer, "ada ex") == {ada}
    assert found(developer, "sam@example") == {f"payments/{made['payment']}"}
    assert found(developer, "zoe@example.com") == {f"disbursements/{made['given']}"}
    assert found(developer, RECIPIENTS["USD"]) == {ada, fiat, f"payments/{made['payment']}"}
    assert (
        found(developer, EMAIL) == found(developer, "defau") == found(developer, "sandbox-cl") == {"accounts/default"}
    )


@pytest.mark.each_database
def test_mails_webhooks_and_calls_are_found_too(sandbox: Flask, made: dict[str, str], developer: Developer) -> None:
    Visitor(sandbox).begins()
    mails = developer.reads(f"/inspector/search?q={EMAIL}")
    assert "Your one-time password" in mails
    seen = developer.opens(f"/inspector/search?q={made['paid']}")
    assert f'href="/inspector/webhooks?order={made["paid"]}"' in seen
    assert "POST /v1/checkout" in seen


@pytest.mark.each_database
def test_it_is_limited_to_one_account(
    sandbox: Flask, made: dict[str, str], tester: Tester, developer: Developer
) -> None:
    shown = tester.makes_account("anna", webhookUrl=ACCOUNTS_URL)
    anna = Payer(sandbox, shown["clientSecret"], shown["clientId"])
    anna.access_token = shown["accessToken"]
    hers = {f"checkouts/{anna.makes_checkout(Decimal('12.50'))}"}
    recipient = anna.calls("GET", "/v1/recipient?currency=USD").data["docs"][0]
    sent = anna.pays({"recipientId": recipient["id"], "amount": Decimal("12.5"), "reference": "salary_100%"})
    hers.add(f"disbursements/{sent.data['disburseData'][0]['disbursementId']}")
    everyones = found(developer, "12.5")
    assert hers < everyones
    assert found(developer, "12.5", account="anna") == hers
    assert found(developer, "12.5", account="default") == everyones - hers
    assert found(developer, "12.5", account="nobody") == set()
    for text in ("ada", "ada@", "5a6d00", made["paid"], "Order 7", "salary", "merchant@", "default", EMAIL, "default"):
        told = developer.opens(f"/inspector/search?{urlencode({'q': text, 'account': 'anna'})}")
        listed = told.partition('<div id="live">')[2]
        assert not [one for one in made.values() if one in listed.replace(text, "")]
        assert "/accounts/default" not in listed
    # The box on every page of a filtered list keeps the filter.
    assert '<input type="hidden" name="account" value="anna">' in developer.opens("/inspector/deposits?account=anna")


HOSTILE = (
    *("\0", "'", "' OR 1=1 --", '"', "%", "_", "\\", "/", "*", "[", "a" * 5000, "é" * 5000, "\U0010ffff", "\ufffe"),
    *("1e999999999", "-1", "+1", "NaN", "Infinity", "9" * 200, "1," * 50, "0." + "0" * 100, "١٢", "1.5 " + "U" * 300),
    *("<script>alert(1)</script>", "{{ 7 ** 19 }}", "${7*7}", "\r\nSet-Cookie: a=b", "0x10", "1_000", " " * 300),
    *("f" * 24, "F" * 24, "g" * 24, "0" * 24, "5a6d00\udcff".encode("utf-8", "surrogateescape").decode("latin-1")),
)


@pytest.mark.slow("hostile input")
@pytest.mark.each_database
def test_whatever_is_asked_is_answered_with_a_page(made: dict[str, str], developer: Developer) -> None:
    for text in HOSTILE:
        page = developer.opens(f"/inspector/search?q={quote(text)}")
        assert "<script>" not in page
        assert str(7**19) not in page
    for query in ("", "?q=", "?q=%ff%fe", "?q=a&q=b", "?account=%00&q=5a6d00", "?q[]=a"):
        developer.opens(f"/inspector/search{query}")


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("12.5", Amount(Decimal("12.5"), None)),
        ("1,250.00 USD", Amount(Decimal(1250), "USD")),
        ("1,250,000", Amount(Decimal(1250000), None)),
        ("0", Amount(Decimal(0), None)),
        *((text, None) for text in ("12,50", "1,2", ",1", "1.", ".5", "1e3", "-5", "USD", "5 U S D", "٣", "12.5 ")),
    ],
)
def test_an_amount_is_read_as_the_pages_write_it(text: str, amount: Amount | None) -> None:
    assert read_amount(text) == amount


def test_an_amount_is_compared_as_a_decimal_whatever_its_last_zeros() -> None:
    spelled = Amount(Decimal("100.50"), None).spellings()
    assert (spelled[0], spelled[1], spelled[-1]) == ("100.5", "100.50", f"100.5{'0' * 17}")
    assert Amount(Decimal(100), None).spellings()[:3] == ["100", "100.0", "100.00"]
    assert Amount(Decimal("0.000"), None).spellings()[0] == "0"
    assert all(Decimal(one) == Decimal("100.5") for one in spelled)


def test_at_most_ten_of_a_kind_are_shown_and_more_are_told(merchant: Merchant, developer: Developer) -> None:
    ids = [merchant.makes_checkout(33) for _ in range(MAX_FOUND + 1)]
    seen = developer.reads("/inspector/search?q=33")
    assert sum(one in seen for one in ids) == MAX_FOUND
    assert ids[0] not in seen
    assert f"More than {MAX_FOUND}." in seen


_TABLES = ("checkout", "deposit", "disbursement", "payment", "recipient", "bank_transfer", "webhook")


@pytest.mark.slow("tables of thousands of rows")
@pytest.mark.parametrize("account", ["", "&account=default"])
@pytest.mark.parametrize("text", [id_of(7), id_of(ROWS)[:20], "r-77", "person 7", "12.5 USD", "1 JPY", "x@example.com"])
def test_every_lookup_reads_an_index(crowded: Flask, text: str, account: str) -> None:
    query = f"/inspector/search?q={quote(text)}{account}"
    plan = plan_of(crowded, lambda: Developer(crowded).opens(query), *_TABLES)
    assert plan.scanned(*_TABLES) == []


@pytest.mark.slow("tables of thousands of rows")
@pytest.mark.parametrize(
    ("query", "table"),
    [
        ("deposits", "deposit"),
        ("deposits?account=default", "deposit"),
        ("deposits?status=nothing", "deposit"),
        ("recipients", "recipient"),
        ("recipients?account=default", "recipient"),
        ("recipients?country=Nowhere", "recipient"),
        ("webhooks?state=failed&account=default", "webhook"),
        ("events", "disbursement_activity"),
        ("events?account=nobody", "disbursement_activity"),
        (f"events?about={id_of(7)}", "disbursement_activity"),
    ],
)
def test_lists_and_events_read_along_an_index(crowded: Flask, query: str, table: str) -> None:
    plan = plan_of(crowded, lambda: Developer(crowded).opens(f"/inspector/{query}"), table)
    assert plan.scanned(table) == []


@pytest.mark.slow("tables of thousands of rows")
def test_a_filter_that_nothing_fulfils_leads_through_everything(crowded: Flask) -> None:
    developer, pages, link = Developer(crowded), 0, "/inspector/deposits?status=nothing"
    while link:
        page = developer.opens(link)
        assert "None like that." in page
        following = re.findall(r'href="([^"]+)">Older deposits', page)
        link, pages = following[0].replace("&amp;", "&") if following else "", pages + 1
    assert pages == FEWER // 10_000 + 1
