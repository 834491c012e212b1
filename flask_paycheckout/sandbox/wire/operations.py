"""Declarations of operations: their credentials, requests and answers, for validation and the OpenAPI document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from flask import Flask, Response, current_app, request
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import MethodNotAllowed, NotFound

from flask_paycheckout.sandbox.wire.envelope import FieldError, read_object
from flask_paycheckout.sandbox.wire.field_types import Request, Shape, declared_fields, load_object
from flask_paycheckout.sandbox.world.context import assumption, world
from flask_paycheckout.sandbox.world.money import rows_of

_MARK = "sandbox_operation"


class Credentials(Enum):
    """The credentials that an operation requires."""

    NONE = "none"
    SIGNATURE = "signature"
    ACCESS_TOKEN = "access token"  # noqa: S105
    CONTROL_TOKEN = "control token"  # noqa: S105


@dataclass(frozen=True, kw_only=True)
class Operation:
    """The declaration of one operation."""

    credentials: Credentials = Credentials.SIGNATURE
    body: Any = None
    """The class of its JSON body."""
    query: type[Request] | None = None
    """The class of its query parameters."""
    returns: Any
    """The type of the answer's data."""
    message: str = "Success"
    code: int | str = 200
    """The status code of a success, or the unknown whose value it is."""
    code_field: str = "statusCode"
    """The envelope's name for the status code."""
    media_type: str = "application/json"
    deprecated: bool = False
    client_id_alone: bool = False
    """Whether the client id without a signature can be enough."""
    data_of: tuple[str, Mapping[str, Any]] | None = None
    """An unknown, and the type of the answer's data under each of its values, where that differs."""
    may_be_empty: bool = False
    """Whether the body may be missing."""

    def code_under(self, unknowns: Mapping[str, str]) -> int:
        """The status code of a success under these switches."""
        return int(unknowns[self.code]) if isinstance(self.code, str) else self.code


def mark(view: Callable[..., Response], declared: Operation) -> Callable[..., Response]:
    """A view with its declaration, which `operation_of` finds."""
    setattr(view, _MARK, declared)
    return view


def operation_of(app: Flask, endpoint: str | None, *, control: bool = False) -> Operation | None:
    """The declaration of a view; None when it is no operation of the service, or with `control`, no control call."""
    declared = getattr(app.view_functions.get(endpoint or ""), _MARK, None)
    is_wanted = isinstance(declared, Operation) and control is (declared.credentials is Credentials.CONTROL_TOKEN)
    return declared if is_wanted else None


def read_sent(hints: Mapping[str, Any], *, may_be_empty: bool = False) -> dict[str, Any]:
    """The query parameters and the body of the current request, for the parameters `query` and `sent` of a view.

    :param hints: the annotations of the view.
    :param may_be_empty: whether the body may be missing.
    :raises FieldError: naming the first field at fault.
    """
    read: dict[str, Any] = {}
    if "query" in hints:
        keeps_empty = assumption("empty_query_values") != "absent"
        read["query"] = read_texts(hints["query"], request.args, keeps_empty=keeps_empty)
    if "sent" in hints:
        read["sent"] = load_object(hints["sent"], read_object({} if may_be_empty else None))
    return read


def read_texts(shape: type[Shape], texts: MultiDict[str, str], *, keeps_empty: bool) -> Shape:
    """Query parameters, or the fields of a form, as the class they are declared by.

    :param keeps_empty: whether an empty optional field counts as present.
    """
    kinds = {field.name: field for field in declared_fields(shape)}
    sent: dict[str, Any] = {}
    for name, values in texts.lists():
        field = kinds.get(name)
        if field is not None and len(values) > 1:
            raise FieldError(f"{name} must be given once.")
        if field is None or values[0] or field.is_required or keeps_empty:
            sent[name] = values[0] if field is None else field.parse(values[0])
    return load_object(shape, sent)


#: Operations that the interface writes in two forms, with the switch and value under which only that form is served.
_FORMS = {
    (method, rule): (switch, value)
    for method, rule, switch, value in rows_of("""
GET    | /v2/payments       | payments_path    | payments
GET    | /v2/payment        | payments_path    | payment
DELETE | /v1/recipient/<id> | recipient_delete | path
DELETE | /v1/recipient      | recipient_delete | query
""")
}


def is_served(method: str, rule: str, unknowns: Mapping[str, str]) -> bool:
    """Whether an operation is served under these switches.

    :param rule: the path with its variables, as routes are written.
    """
    switch, value = _FORMS.get(("GET" if method == "HEAD" else method, rule), ("", ""))
    return not switch or unknowns[switch] in {"both", value}


def check_form() -> None:
    """Refuse a form that this sandbox does not serve."""
    rule = request.url_rule
    if rule is not None and not is_served(request.method, rule.rule, world().unknowns):
        raise MethodNotAllowed if allowed_methods() else NotFound


def allowed_methods() -> list[str]:
    """The methods that are served at the current path, for the header `Allow`."""
    adapter = current_app.url_map.bind("localhost")
    rules = (
        (method, adapter.match(request.path, method, return_rule=True)[0].rule)
        for method in adapter.allowed_methods(request.path)
    )
    return sorted(method for method, rule in rules if is_served(method, rule, world().unknowns))
