"""Declarations of operations: their credentials, requests and answers, for validation and the OpenAPI document.

    @checkouts.post("/v1/checkout")
    @operation(credentials=Credentials.SIGNATURE, body=NewCheckout, codes=(200, 201))
    def create_checkout() -> Envelope[CheckoutLink]:

The return type `Envelope[...]` declares the answer. `read_body` and `read_query` read only classes that the operation
declares, so that the document stays true.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar, get_args, get_type_hints

from flask import Flask, current_app, request
from flask.typing import ResponseReturnValue

from flask_paycheckout.sandbox.wire.envelope import unspecified_refusal
from flask_paycheckout.sandbox.wire.field_types import DeclaredField, declared_fields, load_object
from flask_paycheckout.sandbox.wire.parsing import FieldError, read_object
from flask_paycheckout.sandbox.world.context import assumption

Shape = TypeVar("Shape")
View = TypeVar("View", bound=Callable[..., ResponseReturnValue])

_MARK = "sandbox_operation"
_JSON = "application/json"


class Credentials(Enum):
    """The credentials that an operation requires."""

    NONE = "none"
    SIGNATURE = "signature"
    ACCESS_TOKEN = "access token"  # noqa: S105


@dataclass(frozen=True)
class Operation:
    """The declaration of one operation."""

    summary: str
    description: str
    credentials: Credentials
    body: type | None
    query: type | None
    data: Any
    """The type of `data`; None for an envelope without it."""
    data_of: tuple[str, Mapping[str, Any]] | None
    """An unknown, and the type of `data` under each of its values, where that differs."""
    codes: tuple[int, ...]
    code_field: str
    media_type: str
    deprecated: bool
    client_id_alone: bool


def operation(
    *,
    credentials: Credentials,
    body: type | None = None,
    query: type | None = None,
    codes: tuple[int, ...] = (200,),
    code_field: str = "statusCode",
    media_type: str = "application/json",
    deprecated: bool = False,
    client_id_alone: bool = False,
    data_of: tuple[str, Mapping[str, Any]] | None = None,
) -> Callable[[View], View]:
    """Declare a view.

    :param body: the dataclass of its JSON body.
    :param query: the dataclass of its query parameters.
    :param codes: status codes that a success can have under any unknowns.
    :param client_id_alone: whether the client id without a signature can be enough.
    :param code_field: the envelope's name for the status code.
    :param data_of: an unknown, and the type of the answer's data under each of its values.
    """

    def declare(view: View) -> View:
        summary, _, description = (view.__doc__ or "").strip().partition("\n")
        data = next(iter(get_args(get_type_hints(view)["return"])), None)
        declared = Operation(
            summary,
            description.strip(),
            credentials,
            body,
            query,
            data,
            data_of,
            codes,
            code_field,
            media_type,
            deprecated,
            client_id_alone,
        )
        setattr(view, _MARK, declared)
        return view

    return declare


def operation_of(app: Flask, endpoint: str | None) -> Operation | None:
    """The declaration of a view; None when it is no operation of the service."""
    view = app.view_functions.get(endpoint or "")
    declared = getattr(view, _MARK, None)
    return declared if isinstance(declared, Operation) else None


def read_body(shape: type[Shape]) -> Shape:
    """Read the body of the current request.

    :raises FieldError: it is not as declared.
    :raises Refusal: it is not sent as JSON.
    """
    _check_declared(shape, "body")
    if request.mimetype != _JSON:
        raise unspecified_refusal(
            int(assumption("content_type_error")), f"The body must be sent with the Content-Type {_JSON}."
        )
    return load_object(shape, read_object())


def read_query(shape: type[Shape]) -> Shape:
    """Read the query parameters of the current request. :raises FieldError: they are not as declared."""
    _check_declared(shape, "query")
    sent = {}
    for field in declared_fields(shape):
        given = request.args.getlist(field.name)
        if len(given) > 1:
            raise FieldError(f"{field.name} must be given once.")
        if given and not _is_as_good_as_absent(field, given[0]):
            sent[field.name] = field.kind.parse(field.name, given[0])
    return load_object(shape, sent)


def _is_as_good_as_absent(field: DeclaredField, given: str) -> bool:
    return not given and not field.is_required and assumption("empty_query_values") == "absent"


def _check_declared(shape: type, where: str) -> None:
    declared = operation_of(current_app, request.endpoint)
    if getattr(declared, where, None) is not shape:
        raise TypeError(f"{request.endpoint} reads {shape.__name__}, which its operation() does not declare")
