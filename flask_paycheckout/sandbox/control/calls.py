"""The control interface below `/_sandbox/`, with which tests control a sandbox: how calls are declared and refused.

A call is declared once, by `call` above the function that carries it out. Its route, the check of its body and query,
its transaction and its part of the OpenAPI document follow from that. `docs/sandbox-control.md` lists all calls.

Every call is JSON and carries `X-Sandbox-Control`. Errors are `{"error": {"field", "fault", "remedy"}}` with 400 for a
wrong field, 401 without the token, 404 for a missing object, and 409 if the state of a checkout or a disbursement, or
another account, does not allow the call.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar, get_type_hints

from flask import Blueprint, Response, g, request

from flask_paycheckout.sandbox.wire.callers import CONTROL_HEADER, CallRefused
from flask_paycheckout.sandbox.wire.envelope import FieldError, Refusal, answer
from flask_paycheckout.sandbox.wire.field_types import DeclaredField, declared_fields
from flask_paycheckout.sandbox.wire.operations import Credentials, Operation, mark, read_sent
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.transitions import NotPossible

Function = TypeVar("Function", bound=Callable[..., Any])

control = Blueprint("control", __name__, url_prefix="/_sandbox")


@dataclass(frozen=True)
class ControlCall:
    """A declared call, as the commands of a terminal make it."""

    method: str
    path: str
    summary: str
    usage: str
    shown: str
    fields: tuple[DeclaredField, ...]


CALLS: dict[str, ControlCall] = {}
"""All calls, by their rule."""


def call(
    rule: str,
    summary: str,
    *,
    command: str = "",
    shown: str = "",
    status: int = 200,
    exclusive: bool = False,
    may_be_empty: bool = False,
    body: Any = None,
    answers: Any = None,
    media_type: str = "application/json",
) -> Callable[[Function], Function]:
    """Declare a call of the control interface.

    The function's parameters say what it needs: `session` a transaction, `sent` the body and `query` the query
    parameters, these two as the classes that they are annotated with. All other parameters are path
    variables.

    :param rule: method and path: `POST /clock`.
    :param command: the usage of the command that makes this call, with its arguments: `accounts make <name>`. All other
        fields are options.
    :param shown: paths of the answer's fields, or of each list item's, that people see; all when empty.
    :param exclusive: whether no other transaction may run at the same time.
    :param may_be_empty: whether the body may be missing.
    :param body: the type of a body that the function reads itself.
    :param answers: the type of the answer, where the function returns a whole response.
    """

    def declare(function: Function) -> Function:
        hints = get_type_hints(function)
        shape, query = hints.get("sent"), hints.get("query")

        def respond(**arguments: Any) -> Response:
            arguments |= read_sent(hints, may_be_empty=may_be_empty)
            # A misspelt field would keep its default, and a test would test something else.
            if g.undeclared:
                raise FieldError(f"{g.undeclared[0][:100]} is no field of this call.")
            with transaction(exclusive=exclusive) if "session" in hints else nullcontext() as session:
                result = function(**arguments, **({} if session is None else {"session": session}))
                return result if isinstance(result, Response) else answer(result, status)

        respond.__doc__ = summary
        declared = Operation(
            credentials=Credentials.CONTROL_TOKEN,
            body=body or shape,
            query=query,
            returns=answers or hints["return"],
            code=status,
            media_type=media_type,
            may_be_empty=may_be_empty,
        )
        method, path = rule.split()
        fields = [field for part in (shape, query) if part is not None for field in declared_fields(part)]
        CALLS[rule] = ControlCall(method, path, summary, command, shown, tuple(fields))
        control.add_url_rule(path, rule.replace(".", "_"), mark(respond, declared), methods=[method])
        return function

    return declare


@control.before_request
def check_caller() -> None:
    if not world().is_control_token(request.headers.get(CONTROL_HEADER, "")):
        remedy = "Send the control token that the sandbox printed at its start."
        raise CallRefused(401, CONTROL_HEADER, "is missing or wrong", remedy)


def refuse(refusal: CallRefused) -> Response:
    problem = {"field": refusal.field, "fault": refusal.fault, "remedy": refusal.remedy}
    return answer({"error": problem}, refusal.status)


@control.errorhandler(FieldError)
def _refuse_field(error: FieldError) -> Response:
    field, _, fault = str(error).partition(" ")
    return refuse(CallRefused(400, field, fault, "Correct the field and send the call again; nothing was changed."))


@control.errorhandler(NotPossible)
def _refuse_by_state(error: NotPossible) -> Response:
    return refuse(CallRefused(409, error.what, str(error), "Make a new one: POST /_sandbox/trigger does."))


@control.errorhandler(Refusal)
def _refuse_as_service(refusal: Refusal) -> Response:
    """Refuse by the service's own rules, which also apply to control calls."""
    return refuse(CallRefused(400, "call", f"is refused: {refusal}", "Correct its fields, or what it is about."))
