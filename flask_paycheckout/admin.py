"""Checkouts and events in Flask-Admin, for reading only. Install `flask-paycheckout[admin]`.

    from flask import session
    from flask_admin import Admin
    from flask_paycheckout.admin import payment_views

    def owner():
        return session.get("owner")  # the name of who looks; None: nobody who may

    admin = Admin(app, name="Shop")
    admin.add_views(*payment_views(db, owner))

It goes below `paycheckout.init_app(app, db)`, whose tables these are. No row can be made, changed or deleted here, and
the URLs where customers pay are left out. Held payments are decided in `paycheckout.owner_view`, or by
`flask paycheckout resolve`.

Flask-Admin uses Flask-Babel where that is installed, and then wants `Babel(app)` before `Admin(app)`.

For columns of your own, subclass `CheckoutView` or `EventView`, and give `permission` in the constructor.
"""

from __future__ import annotations

from typing import Any

from flask_sqlalchemy import SQLAlchemy

from flask_paycheckout.security.permission import Permission, name_of, require_callable
from flask_paycheckout.store.models import make_models

try:
    from flask_admin.contrib.sqla import ModelView  # type: ignore[import-untyped]
except ImportError:
    raise ImportError(
        "flask_paycheckout.admin needs Flask-Admin. Install it: pip install 'flask-paycheckout[admin]'"
    ) from None

__all__ = ["CheckoutView", "EventView", "payment_views"]


class _ReadOnlyView(ModelView):  # type: ignore[misc]  # Flask-Admin has no types
    can_create = can_edit = can_delete = False
    can_view_details = True
    # Counting a large table takes longer than showing a page of it.
    simple_list_pager = True
    column_default_sort = ("id", True)
    column_sortable_list = ()

    def __init__(self, model: type, db: SQLAlchemy, permission: Permission, **options: Any) -> None:
        require_callable(permission, "flask_paycheckout.admin")
        self._permission = permission
        super().__init__(model, db, **options)

    def is_accessible(self) -> bool:
        """Whether the shop names the person who looks."""
        return name_of(self._permission) is not None


class CheckoutView(_ReadOnlyView):
    """Attempts at paying, newest first.

    :param model: `paycheckout.Checkout`.
    :param permission: gives the name of the person who looks, or None to refuse; as for `PayCheckout.owner_view`.
    :param options: Flask-Admin's own, such as `name`, `category` and `endpoint`.
    :raises ConfigurationError: `permission` is not a function.
    """

    column_list = ("order_id", "status", "reason", "total", "payment", "checkout_id", "created_at", "moved_at")
    column_details_list = (*column_list, "payback", "deposit_status", "found_by", "webhooks", "reads", "next_read_at")


class EventView(_ReadOnlyView):
    """Events with their delivery to receivers, newest first. Parameters as for `CheckoutView`."""

    column_list = ("order_id", "name", "checkout_id", "occurred_at", "delivered_at", "attempts")
    column_details_list = (*column_list, "event_id", "reason", "extra", "next_attempt_at")


def payment_views(db: SQLAlchemy, permission: Permission, category: str = "Payments") -> tuple[CheckoutView, EventView]:
    """Both views, ready for `Admin.add_views`.

    :param db: the one given to `PayCheckout.init_app`.
    :param permission: gives the name of the person who looks, or None to refuse; as for `PayCheckout.owner_view`.
    :param category: the menu that they are in.
    :raises ConfigurationError: `permission` is not a function.
    """
    models = make_models(db)
    checkouts: Any = {"name": "Checkouts", "category": category, "endpoint": "paycheckout_checkouts"}
    events: Any = {"name": "Events", "category": category, "endpoint": "paycheckout_events"}
    return CheckoutView(models.Checkout, db, permission, **checkouts), EventView(models.Event, db, permission, **events)
