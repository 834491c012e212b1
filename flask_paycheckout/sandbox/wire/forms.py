"""Operations that the interface writes in two forms, and which of them this sandbox serves.

The list of payments has two paths, and deleting a recipient takes the id in the path or in the query. A switch for each
says whether both forms are served, or only one: the other is then answered as if it did not exist.
"""

from __future__ import annotations

from collections.abc import Mapping

from flask import Flask, current_app, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound
from werkzeug.routing import MapAdapter

from flask_paycheckout.sandbox.world.context import world

BOTH = "both"
_FORMS = {
    ("GET", "/v2/payments"): ("payments_path", "payments"),
    ("GET", "/v2/payment"): ("payments_path", "payment"),
    ("DELETE", "/v1/recipient/<id>"): ("recipient_delete", "path"),
    ("DELETE", "/v1/recipient"): ("recipient_delete", "query"),
}


def is_served(method: str, rule: str, unknowns: Mapping[str, str]) -> bool:
    """Whether an operation is served under these switches.

    :param rule: the path with its variables, as routes are written.
    """
    switch, value = _FORMS.get(("GET" if method == "HEAD" else method, rule), ("", ""))
    return not switch or unknowns[switch] in {BOTH, value}


def check_form() -> None:
    """Refuse a form that this sandbox does not serve."""
    rule = request.url_rule
    if rule is not None and not is_served(request.method, rule.rule, world().unknowns):
        raise MethodNotAllowed if allowed_methods() else NotFound


def allowed_methods() -> list[str]:
    """The methods that are served at the current path, for the header `Allow`."""
    adapter = _adapter_of(current_app)
    served = (
        method
        for method in adapter.allowed_methods(request.path)
        if is_served(method, _rule_of(adapter, method), world().unknowns)
    )
    return sorted(served)


def _adapter_of(app: Flask) -> MapAdapter:
    return app.url_map.bind("localhost")


def _rule_of(adapter: MapAdapter, method: str) -> str:
    try:
        return adapter.match(request.path, method=method, return_rule=True)[0].rule
    except HTTPException:
        return ""
