"""The group of commands `flask paycheckout`, which prints expected errors as a sentence."""

from __future__ import annotations

import errno
import getpass
import io
import os
import sys
from functools import cache
from importlib import import_module
from typing import Any

import click
from flask.cli import AppGroup
from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.errors import PayCheckoutError
from flask_paycheckout.shop_functions import Door, through
from flask_paycheckout.text import visible

# Imported when a command is looked up. A web process runs no commands, so it loads no reports, doctor or audit.
_MODULES = ("cli.audit", "cli.books", "cli.commands", "cli.payouts", "cli.requests", "doctor.shop")

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def load_commands() -> None:
    """Import the modules of the commands, which add them to the group."""
    for module in _MODULES:
        import_module(f"flask_paycheckout.{module}")


def system_user() -> str:
    """The name of the system user who runs the command, for the record."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        # A container may run with a user id that has no name.
        return "unknown"


def _record_viewed() -> None:
    """Record that this command shows personal data, with the order or payout that it is about, if any."""
    # Import late, because `flask` imports this module for every command of every package.
    from flask_paycheckout.runtime import runtime

    context = click.get_current_context()
    order_id, reference = map(context.params.get, ("order_id", "reference"))
    runtime().viewed(system_user(), order_id or reference or str(context.info_name), order_id)


class _Plain(AppGroup):
    """A group of commands that prints the message of an expected error instead of a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        load_commands()
        return super().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name; None if there is none."""
        load_commands()
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: click.Context) -> Any:
        if os.environ.get("NO_COLOR"):
            ctx.color = False
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                # Show characters that the terminal's encoding lacks as escapes.
                stream.reconfigure(errors="backslashreplace")
        try:
            with through(Door("command", system_user(), cache(_record_viewed))):
                return super().invoke(ctx)
        except PayCheckoutError as error:
            raise click.ClickException(visible(str(error))) from None
        except OSError as error:
            # A closed pipe is left to click, which exits silently.
            if error.errno not in _NO_SPACE:
                raise
            raise click.ClickException(f"the output could not be written to its end: {error.strerror}") from None
        except SQLAlchemyError as error:
            from flask_paycheckout.database.database_errors import database_text, trouble_of

            trouble = trouble_of(error)
            remedy = trouble.remedy if trouble else "To find the cause and the remedy: flask paycheckout doctor"
            raise click.ClickException(f"{visible(database_text(error))}\n{remedy}") from None


@click.group(cls=_Plain)
def paycheckout() -> None:
    """Hosted checkout: find, explain and decide payments."""
