"""Every call of an app's shop, as pages, commands and tasks make them."""

from __future__ import annotations

from flask_paycheckout.operations.customers import CustomerOperations
from flask_paycheckout.operations.payments import PaymentOperations
from flask_paycheckout.operations.payouts import PayoutOperations
from flask_paycheckout.operations.staff import StaffOperations
from flask_paycheckout.operations.upkeep import UpkeepOperations
from flask_paycheckout.runtime import Runtime, runtime

__all__ = ["AppOperations", "operations"]


class AppOperations(PaymentOperations, PayoutOperations, CustomerOperations, StaffOperations, UpkeepOperations):
    """The calls of one app's shop, with those that only pages, commands and tasks make.

    :param app_runtime: the app's runtime.
    """

    def __init__(self, app_runtime: Runtime) -> None:
        self._app_runtime = app_runtime

    @property
    def _runtime(self) -> Runtime:
        return self._app_runtime


def operations() -> AppOperations:
    """The calls of the current app's shop.

    :raises ConfigurationError: `init_app` was not called for this app.
    """
    return AppOperations(runtime())
