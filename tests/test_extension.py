"""Setting the extension up: on one app, on several, in a factory; and the errors when something is missing."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature

import httpx
import pytest
from flask import Flask
from flask_sqlalchemy import SQLAlchemy

from flask_paycheckout import ConfigurationError, Pay, PayCheckout
from flask_paycheckout.runtime import Runtime, made_once, runtime
from tests.scripted import Clock, Service, Shop, make_app


def test_one_extension_object_serves_two_apps_with_two_databases(clock: Clock, service: Service) -> None:
    paycheckout = PayCheckout()
    paycheckout.order_total({"o-1": Pay("1", "USD")}.get)
    apps: list[tuple[Flask, SQLAlchemy]] = []
    for _ in range(2):
        app = make_app()
        db = SQLAlchemy(app)
        paycheckout.init_app(app, db, transport=httpx.MockTransport(service), clock=clock)
        apps.append((app, db))
    for app, db in apps:
        with app.app_context():
            db.create_all()
            paycheckout.start("o-1")
            assert db.session.query(paycheckout.Checkout).count() == 1
            db.session.rollback()
            db.engine.dispose()
    with pytest.raises(ConfigurationError, match="application context"):
        _ = paycheckout.Checkout


def register(paycheckout: PayCheckout, amount: str) -> None:
    @paycheckout.order_total
    def order_total(order_id: str) -> Pay:
        return Pay(amount, "USD")


def in_a_factory(paycheckout: PayCheckout, create_app: Callable[[], Flask]) -> list[Flask]:
    apps = []
    for amount in ("1", "2"):
        apps.append(create_app())
        register(paycheckout, amount)
    return apps


def in_a_factory_inside_the_first_app(paycheckout: PayCheckout, create_app: Callable[[], Flask]) -> list[Flask]:
    first = create_app()
    register(paycheckout, "1")
    with first.app_context():
        second = create_app()
        register(paycheckout, "2")
    return [first, second]


def in_the_context_of_each(paycheckout: PayCheckout, create_app: Callable[[], Flask]) -> list[Flask]:
    apps = [create_app(), create_app()]
    for app, amount in [*zip(apps, ("1", "2"), strict=True)][::-1]:
        with app.app_context():
            register(paycheckout, amount)
    return apps


def in_two_modules(paycheckout: PayCheckout, create_app: Callable[[], Flask]) -> list[Flask]:
    register(paycheckout, "1")
    first = create_app()
    second = create_app()
    register(paycheckout, "2")
    return [first, second]


@pytest.mark.parametrize(
    "make", [in_a_factory, in_a_factory_inside_the_first_app, in_the_context_of_each, in_two_modules]
)
def test_each_of_two_apps_has_its_own_prices(
    make: Callable[[PayCheckout, Callable[[], Flask]], list[Flask]], clock: Clock, service: Service
) -> None:
    db, paycheckout = SQLAlchemy(), PayCheckout()

    def create_app() -> Flask:
        app = make_app()
        db.init_app(app)
        paycheckout.init_app(app, db, transport=httpx.MockTransport(service), clock=clock)
        return app

    for app, amount in zip(make(paycheckout, create_app), ("1", "2"), strict=True):
        with app.app_context():
            db.create_all()
            assert paycheckout.start("o-1").total == Pay(amount, "USD")
            db.engine.dispose()


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda shop: PayCheckout(make_app()), ConfigurationError, "db must be"),
        (lambda shop: shop.paycheckout.init_app(shop.app, shop.db), ConfigurationError, "already set up on 'shop'"),
        (lambda shop: PayCheckout().Checkout, ConfigurationError, r"made by init_app\(app, db\)"),
        (lambda shop: PayCheckout().start("o-1"), RuntimeError, "application context"),
    ],
    ids=["no db", "set up twice", "models before init_app", "no application context"],
)
def test_a_wrong_use_is_an_error_with_the_remedy(
    shop: Shop, act: Callable[[Shop], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        act(shop)


def test_an_app_without_the_extension_is_named() -> None:
    with make_app().app_context(), pytest.raises(ConfigurationError, match=r"not set up on 'shop'.*init_app"):
        runtime()


def test_each_service_is_made_of_collaborators_of_the_types_that_it_names(shop: Shop) -> None:
    """The runtime finds the collaborators by these types, which no type checker compares."""
    names = {name for name, attribute in vars(Runtime).items() if isinstance(attribute, made_once)} - {"wiring"}
    services = [getattr(shop.runtime, name) for name in names]
    kinds = {type(service).__name__ for service in services}
    for service in services:
        for parameter in signature(type(service)).parameters.values():
            if parameter.annotation in kinds:
                assert type(getattr(service, parameter.name)).__name__ == parameter.annotation
