"""Views whose change, answer and entry in the request log are one transaction."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from flask import Response, g
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.wire.request_log import LOSE_RESPONSE, log_request
from flask_paycheckout.sandbox.world.database import transaction

Given = ParamSpec("Given")
Answer = TypeVar("Answer", bound=Response)


def in_one_transaction(view: Callable[Concatenate[Session, Given], Answer]) -> Callable[Given, Answer]:
    """Call the view with a transaction, in which its call is logged too: one commit instead of two.

    A call that is refused is logged by itself, because its transaction is rolled back.
    """

    @wraps(view)
    def call(*given: Given.args, **named: Given.kwargs) -> Answer:
        # A call that gets no answer is logged as such when the connection is dropped.
        has_answer = g.get("fault_kind") != LOSE_RESPONSE
        with transaction() as session:
            response = view(session, *given, **named)
            if has_answer:
                log_request(response, session)
        if has_answer:
            g.logged = response
        return response

    return call
