"""A login to the service on the terminal."""

from __future__ import annotations

import click

from flask_paycheckout.client import PaymentsError
from flask_paycheckout.client.hidden import Hidden
from flask_paycheckout.client.signing import header_value
from flask_paycheckout.runtime import runtime

__all__ = ["log_in"]


def log_in(email: str, *, never_expires: bool = False) -> str:
    """Ask for password and one-time password, and log in to the service.

    Both are always prompted for, so that no shell history contains them.

    :returns: the access token.
    :raises click.ClickException: the service refused, or could not be reached.
    """
    auth = runtime().client.auth
    try:
        verification = auth.login(email, click.prompt("Password", hide_input=True, err=True))
        otp = Hidden(click.prompt(f"One-time password sent to {email}", hide_input=True, err=True).strip())
        token = auth.verify_login(verification, otp, disable_expire=never_expires).access_token
        header_value("the service's access token", token)
    except (PaymentsError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    return token
