"""Read-only views of checkouts, events and payouts for Flask-Admin. Install `flask-paycheckout[admin]`.

    from flask import session
    from flask_admin import Admin
    from flask_paycheckout.admin import payment_views

    def owner():
        return session.get("owner")  # the name of the person, or None to refuse

    admin = Admin(app, name="Shop")
    admin.add_views(*payment_views(db, owner))

Call it after `paycheckout.init_app(app, db)`, which defines the tables. Rows cannot be created, changed or deleted, and
the URLs of payment pages are not shown. To decide held payments, use `paycheckout.owner_view` or `flask paycheckout
resolve`.

If Flask-Babel is installed, Flask-Admin uses it, and needs `Babel(app)` before `Admin(app)`.

To show columns of your own, subclass `CheckoutView`, `EventView` or `PayoutView`, and pass `permission` to the
constructor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from markupsafe import Markup

from flask_paycheckout.database.hosts import database_of
from flask_paycheckout.models import models_in
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.runtime import runtime
from flask_paycheckout.security.permission import Permission, person_of, require_callable
from flask_paycheckout.text import visible

try:
    from flask_admin.contrib.sqla import ModelView  # type: ignore[import-untyped]
    from flask_admin.model.typefmt import BASE_FORMATTERS, DETAIL_FORMATTERS  # type: ignore[import-untyped]
except ImportError:
    raise ImportError(
        "flask_paycheckout.admin needs Flask-Admin. Install it: pip install 'flask-paycheckout[admin]'"
    ) from None

if TYPE_CHECKING:
    from flask_sqlalchemy import SQLAlchemy
    from flask_sqlalchemy_lite import SQLAlchemy as LiteSQLAlchemy
    from sqlalchemy import MetaData

    from flask_paycheckout.database.hosts import Host

    ShopDb = SQLAlchemy | LiteSQLAlchemy | Host

__all__ = ["CheckoutView", "EventView", "PayoutView", "payment_views"]


def _shown(view: object, text: str, column: str) -> str:
    return text if isinstance(text, Markup) else visible(text)


def _lines(view: object, context: object, payout: PayoutMixin, column: str) -> Markup:
    # Each fact has its own line, because a receiver's name could be mistaken for the bank's.
    return Markup("<br>").join(map(visible, (payout.destination or "").split("\n")))


class _ShopSession:
    """Stands for the session of each request, because Flask-Admin takes no `Host`, and Lite only inside a context."""

    session = None

    def query(self, *entities: Any) -> Any:
        return runtime().sessions.of_context().query(*entities)

    def get(self, model: type, key: Any) -> Any:
        return runtime().sessions.of_context().get(model, key)


class _ReadOnlyView(ModelView):  # type: ignore[misc]  # Flask-Admin has no types
    can_create = can_edit = can_delete = False
    can_view_details = True
    # No row count, which takes longer than the page itself on a large table.
    simple_list_pager = True
    column_default_sort = ("id", True)
    column_sortable_list = ()
    # Customers typed some of these texts.
    column_type_formatters = BASE_FORMATTERS | {str: _shown}
    column_type_formatters_detail = DETAIL_FORMATTERS | {str: _shown}

    def __init__(self, model: type, db: ShopDb, permission: Permission, **options: Any) -> None:
        require_callable(permission, "flask_paycheckout.admin")
        self._permission = permission
        super().__init__(model, _ShopSession(), **options)

    def is_accessible(self) -> bool:
        """Whether the permission function names a person with the ability `look`."""
        person = person_of(self._permission, runtime().call_shop)
        return person is not None and "look" in person.may


_View = TypeVar("_View", bound=_ReadOnlyView)


class CheckoutView(_ReadOnlyView):
    """View of all checkouts, newest first.

    :param model: `paycheckout.Checkout`.
    :param permission: returns the name of the person who makes the request, or None to refuse; as for
        `PayCheckout.owner_view`.
    :param options: options of Flask-Admin, such as `name`, `category` and `endpoint`.
    :raises ConfigurationError: `permission` is not a function.
    """

    column_list = (
        "order_id",
        "account",
        "status",
        "reason",
        "total",
        "payment",
        "checkout_id",
        "created_at",
        "moved_at",
    )
    column_details_list = (*column_list, "payback", "deposit_status", "found_by", "webhooks", "reads", "next_read_at")


class EventView(_ReadOnlyView):
    """View of all events with their delivery, newest first. Parameters as for `CheckoutView`."""

    column_list = ("order_id", "name", "checkout_id", "payout_reference", "occurred_at", "delivered_at", "attempts")
    column_details_list = (*column_list, "event_id", "reason", "extra", "next_attempt_at")


class PayoutView(_ReadOnlyView):
    """View of all payouts and refunds, newest first, without account numbers. Parameters as for `CheckoutView`."""

    column_list = (
        "reference",
        "kind",
        "account",
        "status",
        "amount",
        "currency",
        "destination",
        "order_id",
        "created_at",
        "moved_at",
    )
    column_formatters = column_formatters_detail = {"destination": _lines}  # noqa: RUF012 - Flask-Admin's own form
    column_details_list = (
        *column_list,
        *("refund_of", "counts", "counts_currency", "note", "revision", "service_reference", "disbursement_id"),
        *("problem", "problem_since", "due_at"),
    )


def payment_views(
    db: ShopDb, permission: Permission, category: str = "Payments", *, metadata: MetaData | None = None
) -> tuple[CheckoutView, EventView, PayoutView]:
    """Make the views of checkouts, events and payouts, for `Admin.add_views`.

    :param db: the object that `PayCheckout.init_app` got.
    :param permission: returns the name of the person who makes the request, or None to refuse; as for
        `PayCheckout.owner_view`.
    :param category: the menu that contains them.
    :param metadata: as for `PayCheckout.init_app`.
    :raises ConfigurationError: `permission` is not a function, or `init_app` was not called before.
    """
    models = models_in(database_of(db, metadata).metadatas[None])

    def view_of(view: type[_View], model: type, name: str) -> _View:
        return view(model, db, permission, name=name, category=category, endpoint=f"paycheckout_{name.lower()}")

    return (
        view_of(CheckoutView, models.Checkout, "Checkouts"),
        view_of(EventView, models.Event, "Events"),
        view_of(PayoutView, models.Payout, "Payouts"),
    )
