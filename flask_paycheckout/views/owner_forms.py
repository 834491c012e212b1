"""What the owner's pages share: rendering, and forms that are good for one subject and one person."""

from __future__ import annotations

from flask import abort, g, render_template, request, url_for

from flask_paycheckout.checkouts.decisions import MAX_BY, MAX_WHY
from flask_paycheckout.runtime import runtime
from flask_paycheckout.text import moment_text, trimmed, visible


def owner() -> str:
    """The name of the person who makes this request, as decisions record it."""
    name: str = g.paycheckout_owner
    return name[:MAX_BY]


def owner_page(template: str, **facts: object) -> str:
    """Render a page of the owner's view."""
    return render_template(
        f"paycheckout/owner/{template}.html", moment=moment_text, visible=visible, who=g.paycheckout_owner, **facts
    )


def account_asked_for() -> tuple[str | None, list[str]]:
    """The merchant account that a list is limited to, if any, and the names of all when the shop has more than one."""
    names = runtime().merchants.names()
    if len(names) < 2:
        return None, []
    asked = request.args.get("account")
    try:
        return None if asked is None else runtime().merchants.require(asked), names
    except ValueError:
        abort(404, "There is no such account.")


def form_url(endpoint: str, purpose: str, subject: str) -> str:
    """The URL that a form posts to. Its token contains subject and person, so nobody can decide in another's name.

    :param purpose: one of the purposes of `signed_links`.
    :param subject: the id of the checkout or payout.
    """
    token = runtime().signed_links.sign(purpose, f"{subject}\n{g.paycheckout_owner}")
    return url_for(f"paycheckout_owner.{endpoint}", token=token)


def subject_of_form(purpose: str, token: str) -> str:
    """The subject in a form's token; anything but this person's own valid form is refused with 403."""
    signed = runtime().signed_links.read(purpose, token) or ""
    subject, _, who = signed.partition("\n")
    if not subject or who != g.paycheckout_owner:
        abort(403, "This form is not yours, or too old. Open the page again.")
    return subject


def why_given() -> str:
    """The reason in the posted form; empty without one."""
    return trimmed(request.form.get("why", ""))[:MAX_WHY]
