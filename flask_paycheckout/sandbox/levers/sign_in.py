"""`/inspector/sign-in` and `/inspector/sign-out`: people sign in to a shared sandbox with a password."""

from __future__ import annotations

import re

from flask import Blueprint, Response, abort, redirect, request, url_for
from werkzeug import Response as AnyResponse

from flask_paycheckout.sandbox.access.attempts import count_attempt, take_back
from flask_paycheckout.sandbox.access.sessions import (
    begin_session,
    end_session,
    forget_cookie,
    keep_cookie,
)
from flask_paycheckout.sandbox.access.visitors import signed_in_visitor
from flask_paycheckout.sandbox.levers.pages import page
from flask_paycheckout.sandbox.wire.callers import check_form, form_token
from flask_paycheckout.sandbox.world.access import MAX_SECRET, OPERATOR, Access, is_same
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import transaction

sign_in_pages = Blueprint("sign_in_pages", __name__, url_prefix="/inspector")

_FORM = "sign-in"
# Pages of this sandbox only: another address would lead whoever signs in somewhere else.
_OWN_PAGE = re.compile(r"/(inspector/[\w/-]*|checkout/\w+)?(\?[\w=&%.+@-]*)?")
_WRONG = "The name or the password is wrong."


def ask_to_sign_in() -> AnyResponse:
    """Redirect to the page for signing in, which leads back to a page that was asked for."""
    target = request.full_path.removesuffix("?")
    wanted = target if request.method == "GET" and _OWN_PAGE.fullmatch(target) and target != "/" else None
    return redirect(url_for("sign_in_pages.show", next=wanted), 303)


@sign_in_pages.get("/sign-in")
def show() -> Response:
    return _page(_access())


def _access() -> Access:
    return world().access or abort(404)


def _page(access: Access, status: int = 200, problem: str = "") -> Response:
    wanted = request.values.get("next", "")
    return page(
        "sign_in.html",
        status,
        token=form_token(_FORM),
        has_teams=bool(access.teams),
        operator=OPERATOR,
        name=request.form.get("name", "")[:MAX_SECRET],
        wanted=wanted if _OWN_PAGE.fullmatch(wanted) else "",
        problem=problem,
        longest=MAX_SECRET,
    )


@sign_in_pages.post("/sign-in")
def sign_in() -> AnyResponse:
    """Begin a session for the right name and password."""
    access = _access()
    check_form(_FORM)
    name = request.form.get("name", "").strip() or OPERATOR
    with transaction() as session:
        seconds = count_attempt(session, access, name)
    if seconds:
        minutes = -(-seconds // 60)
        refused = _page(access, 429, f"There were too many attempts. Try again in {minutes} minutes.")
        refused.headers["Retry-After"] = str(seconds)
        return refused
    password, sent = access.password_of(name), request.form.get("password", "")
    # Compared in any case, so that the time does not tell which names exist.
    if not is_same(sent, password or "") or password is None:
        return _page(access, 401, _WRONG)
    with transaction() as session:
        take_back(session, access, name)
        end_session(session)
        cookie = begin_session(session, access, name)
    wanted = request.form.get("next", "")
    signed_in = redirect(wanted if wanted and _OWN_PAGE.fullmatch(wanted) else "/", 303)
    keep_cookie(signed_in, cookie)
    return signed_in


@sign_in_pages.post("/sign-out")
def sign_out() -> AnyResponse:
    """End the session."""
    if signed_in_visitor(_access()) is not None:
        check_form()
        with transaction() as session:
            end_session(session)
    signed_out = redirect(url_for("sign_in_pages.show"), 303)
    forget_cookie(signed_out)
    return signed_out
