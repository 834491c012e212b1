"""Payment tables in a second database: refused, unless the shop accepts that its receivers run at least once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout import CheckoutMixin, ConfigurationError, EventMixin, PayCheckout, order_paid
from flask_paycheckout.events.event_queue import EventQueue
from flask_paycheckout.events.receiver_runs import ReceiverRuns
from tests.conftest import OpenShop
from tests.races.effects import add_effects, writes
from tests.races.test_histories import Died
from tests.scripted import Shop, make_app


def add_payment_tables(checkouts: str | None, events: str | None) -> Callable[[SQLAlchemy], None]:
    def add(db: SQLAlchemy) -> None:
        add_effects(db)
        db.metadata.info["own"] = [
            type("Payment", (CheckoutMixin, db.Model), {"__bind_key__": checkouts} if checkouts else {}),
            type("News", (EventMixin, db.Model), {"__bind_key__": events} if events else {}),
        ]

    return add


@pytest.fixture
def open_separate(open_shop: OpenShop, tmp_path: Path) -> Callable[..., Shop]:
    def open_one(checkouts: str | None = "payments", events: str | None = "payments", **config: Any) -> Shop:
        binds = {"payments": f"sqlite:///{tmp_path / 'payments.db'}"}
        return open_shop(prepare=add_payment_tables(checkouts, events), SQLALCHEMY_BINDS=binds, **config)

    return open_one


@pytest.fixture
def shop(open_separate: Callable[..., Shop]) -> Shop:
    return open_separate(PAYCHECKOUT_SEPARATE_DATABASE=True, hears=False)


def test_it_is_refused_with_what_to_do(open_separate: Callable[..., Shop]) -> None:
    with pytest.raises(ConfigurationError, match="PAYCHECKOUT_SEPARATE_DATABASE = True"):
        open_separate()


def test_tables_in_two_databases_are_refused_always(open_separate: Callable[..., Shop]) -> None:
    with pytest.raises(ConfigurationError, match="Give the classes the same one"):
        open_separate(events=None, PAYCHECKOUT_SEPARATE_DATABASE=True)


def test_a_shop_whose_only_database_has_a_name_is_no_second_one(tmp_path: Path) -> None:
    binds = {"payments": f"sqlite:///{tmp_path / 'payments.db'}"}
    app = make_app(SQLALCHEMY_DATABASE_URI=None, SQLALCHEMY_BINDS=binds)
    db = SQLAlchemy(app)
    add_payment_tables("payments", "payments")(db)
    PayCheckout(app, db)


@contextmanager
def death(shop: Shop, when: str) -> Iterator[None]:
    """The delivering process dies before the receiver's commit, or between that commit and the mark."""

    def die(*arguments: Any) -> Any:
        raise Died

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReceiverRuns, "let_go", lambda runs, event: None)
        patch.setattr(EventQueue, "mark" if when == "between the commits" else "require_held", die)
        yield


@pytest.mark.parametrize(("when", "times"), [("before the commits", 1), ("between the commits", 2)])
def test_a_receivers_effect_is_never_lost_whenever_its_process_dies(shop: Shop, when: str, times: int) -> None:
    """The effect is committed before the mark: the receiver runs at least once, with the same event_id."""
    heard: list[str] = []

    def ship(app: object, *, order_id: str, event_id: str, **facts: object) -> None:
        heard.append(event_id)
        writes(shop, "ship", order_id)

    checkout_id = shop.has_deposit("completed")
    with order_paid.connected_to(ship, sender=shop.app):
        with death(shop, when), pytest.raises(Died):
            shop.settles(checkout_id)
        assert shop.reconciles(minutes=1).delivered == 1
        assert shop.reconciles().delivered == 0
    assert len(heard) == 2
    assert len(set(heard)) == 1
    assert effects(shop) == times
    assert shop.events("order_paid")[0].delivered_at is not None


def effects(shop: Shop) -> int:
    with shop.app.app_context():
        return int(shop.db.session.execute(text("SELECT count(*) FROM effect")).scalar_one())


def test_an_atomic_receiver_runs_after_the_move_as_others_do(shop: Shop) -> None:
    @shop.paycheckout.atomic
    def close(app: object, *, order_id: str, checkout: Any, **facts: object) -> None:
        # Another transaction sees the payment, so it is committed.
        seen.append(shop.attempt(checkout.checkout_id).status)
        writes(shop, "close", order_id)

    seen: list[str] = []
    with order_paid.connected_to(close, sender=shop.app):
        shop.has_paid()
    assert seen == ["paid"]
    assert effects(shop) == 1


def test_writes_that_a_receiver_lost_with_its_transaction_are_no_delivery(
    open_shop: OpenShop, tmp_path: Path, postgres_database: str
) -> None:
    """PostgreSQL rolls back at the COMMIT after an error that the receiver suppressed."""
    binds = {"payments": f"sqlite:///{tmp_path / 'payments.db'}"}
    config = {"SQLALCHEMY_DATABASE_URI": postgres_database, "SQLALCHEMY_BINDS": binds}
    shop = open_shop(prepare=add_payment_tables("payments", "payments"), PAYCHECKOUT_SEPARATE_DATABASE=True, **config)
    broken = True

    def ship(app: object, *, order_id: str, **facts: object) -> None:
        writes(shop, "ship", order_id)
        if broken:
            with suppress(SQLAlchemyError):
                shop.db.session.execute(text("SELECT * FROM nowhere"))

    with order_paid.connected_to(ship, sender=shop.app):
        shop.has_paid()
        assert "a statement failed in its transaction" in shop.events("order_paid")[0].last_error
        broken = False
        assert shop.reconciles().delivered == 1
    assert effects(shop) == 1
