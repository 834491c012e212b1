"""The group of commands `flask paycheckout`, which tells expected errors in a sentence."""

from __future__ import annotations

from typing import Any

import click
from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.doctor.database import database_text
from flask_paycheckout.errors import PayCheckoutError
from flask_paycheckout.rules.text import visible
from flask_paycheckout.store.troubles import trouble_of

__all__ = ["paycheckout"]


class _Plain(click.Group):
    """A group of commands that prints the message of an expected error instead of a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except PayCheckoutError as error:
            raise click.ClickException(visible(str(error))) from None
        except SQLAlchemyError as error:
            trouble = trouble_of(error)
            remedy = trouble.remedy if trouble else "To find the cause and the remedy: flask paycheckout doctor"
            raise click.ClickException(f"{visible(database_text(error))}\n{remedy}") from None


@click.group(cls=_Plain)
def paycheckout() -> None:
    """Hosted checkout: find, explain and decide payments."""
