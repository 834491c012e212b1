"""README's shop on each kind of database object that `init_app` takes, and the objects that it refuses.

`tests.hosts` runs other tests on each of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask import Flask, g
from flask.globals import app_ctx
from flask_sqlalchemy_lite import SQLAlchemy as LiteSQLAlchemy
from sqlalchemy import Engine, MetaData, StaticPool, create_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from flask_paycheckout import ConfigurationError, Host, Pay, PayCheckout, ToRecipient, UncommittedChanges, order_paid
from flask_paycheckout.testing import Sandbox, Signals
from tests.conftest import OpenShop
from tests.docs.conftest import MakeShop, make_shop
from tests.docs.merchant import shop_source
from tests.docs.pages import snippet
from tests.hosts import HOSTS
from tests.scripted import make_app

__all__ = ["make_shop"]

SHOPS: dict[str, Callable[[], str]] = {
    "Flask-SQLAlchemy": shop_source,
    "Flask-SQLAlchemy-Lite": lambda: snippet("docs/hosts.md", "lite_shop", ""),
    "SQLAlchemy": lambda: snippet("docs/hosts.md", "plain_shop", ""),
}


@pytest.fixture(params=sorted(SHOPS))
def shop(request: pytest.FixtureRequest, make_shop: MakeShop) -> Any:
    return make_shop(change=lambda readme: SHOPS[request.param]())


def engine_of(shop: Any) -> Any:
    return shop.paycheckout.session.get_bind(shop.Order)


def is_paid(shop: Any) -> tuple[bool, str]:
    """Whether the shop's order is paid, and the order's status, both read anew."""
    with Session(engine_of(shop)) as session:
        return session.get_one(shop.Order, "1").paid, shop.paycheckout.order_status("1")


def has_paid(shop: Any, sandbox: Sandbox) -> str:
    """Let the customer pay, without the shop knowing it yet."""
    checkout_id = str(shop.paycheckout.start("1").checkout_id)
    sandbox.pay(checkout_id)
    return checkout_id


@pytest.mark.on_each_database
def test_an_order_is_paid_and_refunded_in_the_shops_session(shop: Any, paycheckout_sandbox: Sandbox) -> None:
    paycheckout, payout, sessions = shop.paycheckout, shop.paycheckout.Payout, []
    mine = paycheckout.session

    def pays_maker(app: Flask, *, order_id: str, **facts: object) -> None:
        sessions.append(paycheckout.session)
        paycheckout.pay_out(f"maker-{order_id}", "8.00", "USD", ToRecipient("rec_1"))

    with order_paid.connected_to(pays_maker, shop.app):
        checkout_id = has_paid(shop, paycheckout_sandbox)
        assert paycheckout.settle(checkout_id).status == "paid"
    assert is_paid(shop) == (True, "paid")
    assert mine is paycheckout.session
    assert mine not in sessions, "receivers have a session of their own"
    for end in (mine.rollback, mine.commit):
        refund = paycheckout.refund(checkout_id, "2.50", by="Ada", why="one jar broke")
        assert refund in mine
        end()
    with Session(engine_of(shop)) as session:
        stored = {row.reference: row.kind for row in session.query(payout)}
    assert sorted(stored.values()) == ["payout", "refund"], "the rolled back refund is gone"
    assert "maker-1" in stored


def test_a_payment_is_settled_inside_an_event_loop(shop: Any, paycheckout_sandbox: Sandbox) -> None:
    """In an `async def` view, Flask cannot call the coroutine function with which Lite closes its sessions."""
    checkout_id = has_paid(shop, paycheckout_sandbox)

    async def settles() -> str:
        return str(shop.paycheckout.settle(checkout_id).status)

    assert asyncio.run(settles()) == "paid"


@pytest.mark.parametrize("host", HOSTS)
def test_a_request_is_made_reminded_of_and_paid(host: str, open_shop: OpenShop, signals: Signals) -> None:
    shop = open_shop(PAYCHECKOUT_REMIND_AFTER=[3600])
    with shop.app.app_context():
        session = shop.paycheckout.session
        for end in (session.rollback, session.commit):
            request = shop.paycheckout.request(Pay("12.50", "USD"), title="Logo")
            assert request in session
            order_id = request.order_id
            end()
    shop.reconciles(hours=1)
    shop.has_paid(order_id)
    names = "request_reminder", "request_paid"
    assert [(event.name, event.order_id) for event in signals] == [(name, order_id) for name in names]


@pytest.mark.on_each_database
def test_half_done_work_of_the_shop_is_seen_and_left_alone(shop: Any) -> None:
    session = shop.paycheckout.session
    session.add(shop.Order(id="2", total="1"))
    session.flush()
    with pytest.raises(UncommittedChanges):
        shop.paycheckout.start("1")
    session.rollback()
    assert session.get(shop.Order, "2") is None


class PlainShop:
    """A shop on plain SQLAlchemy with a database in memory; a function makes the session from the engine."""

    def __init__(self, session: Callable[[Engine], Any], engine: Any = None, **options: Any) -> None:
        self.app, self.paycheckout, metadata = make_app(**options.pop("config", {})), PayCheckout(), MetaData()
        self.engine = create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
        self.session = session(self.engine)
        self.paycheckout.init_app(self.app, Host(metadata, engine or self.engine, self.session), **options)
        self.paycheckout.order_total(lambda order_id: Pay("12.50", "USD"))
        metadata.create_all(self.engine)

    def __enter__(self) -> PayCheckout:
        self._context = self.app.app_context()
        self._context.push()
        return self.paycheckout

    def __exit__(self, *raised: object) -> None:
        self._context.pop()
        self.engine.dispose()


@pytest.mark.parametrize(
    ("session", "message"),
    [
        (lambda engine: scoped_session(sessionmaker(engine)), "same session in two nested application contexts"),
        (sessionmaker, "another session with each call"),
        (lambda engine: lambda: scoped_session(sessionmaker(engine)), "gives a scoped_session instead of"),
    ],
    ids=["of the thread", "always new", "no session"],
)
def test_a_host_that_gives_contexts_no_own_session_is_refused(session: Any, message: str) -> None:
    with PlainShop(session) as paycheckout:
        for use in (lambda: paycheckout.session, lambda: paycheckout.start("o-1")):
            with pytest.raises(ConfigurationError, match=f"{message}.*Give a function"):
                use()


def test_a_session_on_another_database_than_the_engine_is_refused(tmp_path: Path) -> None:
    sessions = lambda engine: lambda: g.setdefault("session", Session(engine))  # noqa: E731
    refused = pytest.raises(ConfigurationError, match=r"sqlite://.*elsewhere\.db")
    with PlainShop(sessions, create_engine(f"sqlite:///{tmp_path}/elsewhere.db")) as paycheckout, refused:
        paycheckout.start("o-1")


def test_a_scoped_session_of_the_context_and_an_engine_by_function_will_do(paycheckout_sandbox: Sandbox) -> None:
    def sessions(engine: Engine) -> Any:
        of_context = lambda: id(app_ctx._get_current_object())  # type: ignore[attr-defined]  # noqa: E731
        return scoped_session(sessionmaker(engine), scopefunc=of_context)

    options = {"transport": paycheckout_sandbox.transport, "config": paycheckout_sandbox.config}
    opened: list[PlainShop] = []
    opened.append(PlainShop(sessions, lambda: opened[0].engine, **options))
    (shop,) = opened
    with shop as paycheckout:
        checkout_id = paycheckout.start("o-1").checkout_id
        paycheckout_sandbox.pay(checkout_id)
        assert paycheckout.settle(checkout_id).status == "paid"
        assert paycheckout.session is shop.session()
        shop.session.remove()


class Quart:
    """An app that is no Flask app."""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None,), r"Host\(Model\.metadata, engine, session\)"),
        ((LiteSQLAlchemy(),), r"metadata=Model\.metadata"),
        ((Host(MetaData(), lambda: None, lambda: None), MetaData()), "Leave it out"),  # type: ignore[arg-type,return-value]
        ((Host(MetaData(), None, lambda: None),), "NoneType and function"),  # type: ignore[arg-type,return-value]
    ],
    ids=["nothing", "no metadata", "metadata in vain", "no engine"],
)
def test_anything_else_is_refused_with_what_to_write(arguments: Any, message: str) -> None:
    db, metadata = (*arguments, None)[:2]
    with pytest.raises(ConfigurationError, match=message):
        PayCheckout(make_app(), db, metadata=metadata)


def test_an_app_that_is_not_flasks_is_refused() -> None:
    app: Any = Quart()
    with pytest.raises(ConfigurationError, match=r"must be a flask\.Flask, not .*Quart.*a2wsgi"):
        PayCheckout().init_app(app, LiteSQLAlchemy(), metadata=MetaData())
