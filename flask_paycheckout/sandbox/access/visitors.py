"""Who is calling: the operator, who may do everything, or a team, which may use its own accounts.

On a sandbox that is not shared, the operator is whoever calls from this machine, or knows the control token.
"""

from __future__ import annotations

from dataclasses import dataclass

from flask import g, request

from flask_paycheckout.sandbox.access.sessions import find_session
from flask_paycheckout.sandbox.access.visibility import limit_to
from flask_paycheckout.sandbox.auth.start_state import ACCOUNT_NAME
from flask_paycheckout.sandbox.wire.callers import (
    CONTROL_HEADER,
    CallRefused,
    check_control_token,
    check_loopback,
    check_password,
    may_control,
)
from flask_paycheckout.sandbox.world.access import OPERATOR, Access
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import transaction

_FOR_PROGRAMS = frozenset(
    {
        *("read_time", "read_mails", "read_webhooks", "send_again", "pick", "pay", "fail", "leave"),
        *("read_disbursements", "finish", "read_account", "switch_account", "read_webhook_endpoint"),
        *("set_webhook_endpoint", "read_faults", "order_fault", "forget_faults", "describe_service"),
        *("log.read_requests", "log.read_archive"),
        *("unknowns.read_all", "triggers.cause", "triggers.follow", "triggers.read_proof", "triggers.describe_control"),
        *("accounts.read_accounts", "accounts.read_account", "accounts.replace_keys", "accounts.read_account_switches"),
        *("accounts.switch_account", "accounts.read_webhook_endpoint", "accounts.set_webhook_endpoint"),
    }
)
_FOR_PEOPLE = frozenset(
    {
        *(
            "show_overview",
            "show_checkout",
            "show_disbursement",
            "show_payment",
            "show_requests",
            "save_requests",
            "show_request",
        ),
        *("search", "show_events", "show_deposits", "show_deposit", "show_recipients", "show_recipient"),
        *("show_accounts", "show_account"),
        *("show_mails", "show_webhooks", "resend", "show_levers", "order_fault", "forget_faults", "show_unknowns"),
    }
)
FOR_TEAMS = {f"control.{name}" for name in _FOR_PROGRAMS} | {f"inspector.{name}" for name in _FOR_PEOPLE}
"""The endpoints that a team may call. What is not here concerns all accounts, and is for the operator."""


@dataclass(frozen=True)
class Visitor:
    """Somebody who may use the pages or the control interface."""

    name: str
    """The team, or the operator."""
    accounts: tuple[str, ...] | None
    """The names of the team's accounts; None for all accounts."""
    signed_in: bool = False
    """Whether there is a session, which can be ended."""

    @property
    def is_team(self) -> bool:
        return self.accounts is not None


def admit_program() -> None:
    """Admit a call of the control interface by its control token. :raises CallRefused: it may not do this."""
    access = world().access
    if access is None:
        check_loopback()
        check_control_token()
        return
    token = request.headers.get(CONTROL_HEADER, "")
    team = None if world().is_control_token(token) else access.team_with_token(token)
    if team is None:
        check_control_token()
        return
    _admit(Visitor(team.name, team.accounts))


def admit_person() -> bool:
    """Admit a request of a page; False when its sender has to sign in first.

    :raises CallRefused: the caller may not do this, whoever it is.
    """
    access = world().access
    if access is None:
        check_loopback()
        check_password()
        return True
    visitor = signed_in_visitor(access)
    if visitor is None:
        return False
    _admit(visitor)
    return True


def admit_developer(account: str | None) -> bool:
    """Admit a developer of the account to a page that customers see; False for everybody else.

    :param account: the name of the account whose page it is.
    """
    access = world().access
    if access is None:
        return may_control()
    visitor = signed_in_visitor(access)
    if visitor is None or (visitor.accounts is not None and account not in visitor.accounts):
        return False
    g.visitor = visitor
    return True


def visitor() -> Visitor:
    """Who was admitted."""
    return getattr(g, "visitor", Visitor(OPERATOR, None))


def only_account() -> str | None:
    """The account that a team means when it names none: the only one that it has."""
    accounts = visitor().accounts
    return accounts[0] if accounts is not None and len(accounts) == 1 else None


def first_account() -> str:
    """The account that a page tells about when none was chosen."""
    accounts = visitor().accounts
    return ACCOUNT_NAME if accounts is None else accounts[0]


def check_whole_sandbox(what: str) -> None:
    """Refuse a team something that concerns all accounts. :raises CallRefused: the visitor is a team."""
    if visitor().is_team:
        fault = "is for the operator of this sandbox, because it concerns all teams"
        raise CallRefused(403, what, fault, "Ask the operator.")


def limit_to_visitor() -> None:
    """Let the rest of the request see only what the visitor may."""
    accounts = visitor().accounts
    if accounts is not None:
        limit_to(accounts)


def _admit(admitted: Visitor) -> None:
    g.visitor = admitted
    if admitted.is_team:
        if request.endpoint is not None and request.endpoint not in FOR_TEAMS:
            check_whole_sandbox("call")
        limit_to_visitor()


def signed_in_visitor(access: Access) -> Visitor | None:
    """Whose session the current request belongs to; None for nobody's."""
    with transaction() as session:
        found = find_session(session, access)
        if found is None:
            return None
        # Binds the forms of the pages to this session.
        g.form_key = found.digest
        name = found.name
    if name == OPERATOR:
        return Visitor(OPERATOR, None, signed_in=True)
    return Visitor(name, access.teams[name].accounts, signed_in=True)
