"""The command `flask shop payout`: pays the suppliers and follows their transfers, by cron or by hand.

Exit codes: 0 all is well, 1 a transfer needs attention (its line says why), 2 the command has a wrong option.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click
from flask.cli import AppGroup
from sqlalchemy import select

from example_shop.database import db
from example_shop.ledger import Payout
from example_shop.payouts import pay_out

if TYPE_CHECKING:
    from flask import Flask

shop = AppGroup("shop", help="The shop's own business.")


@shop.command("payout")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document for programs.")
def payout(as_json: bool) -> None:
    """Pay the suppliers what they are owed. Safe to repeat: nobody is paid twice."""
    before = {row.reference: row.state for row in everything()}
    db.session.rollback()
    pay_out()
    rows = everything()
    report = {
        "changed": [as_dict(row) for row in rows if before.get(row.reference) != row.state],
        "needsAttention": [as_dict(row) for row in rows if needs_attention(row, before)],
    }
    print(json.dumps(report, indent=2) if as_json else in_words(report))
    sys.exit(1 if report["needsAttention"] else 0)


def everything() -> list[Payout]:
    return list(db.session.scalars(select(Payout).order_by(Payout.made_at, Payout.reference)))


def needs_attention(row: Payout, before: dict[str, str]) -> bool:
    """Whether to list a payout as needing attention; a failed one only once, as its amount is owed again."""
    just_failed = row.state == "failed" and before.get(row.reference) != "failed"
    return just_failed or row.state == "unknown" or (row.trouble is not None and row.state != "failed")


def as_dict(row: Payout) -> dict[str, Any]:
    return {
        "reference": row.reference,
        "supplier": row.supplier,
        "amount": str(row.amount),
        "currency": row.currency,
        "state": row.state,
        "trouble": row.trouble,
    }


def in_words(report: dict[str, list[dict[str, Any]]]) -> str:
    lines = [f"{row['reference']}  {row['amount']:>10} {row['currency']}  {row['state']}" for row in report["changed"]]
    lines += [f"! {row['reference']} is {row['state']}: {row['trouble'] or 'look'}" for row in report["needsAttention"]]
    return "\n".join(lines) or "Nothing is owed, and nothing changed."


def init_app(app: Flask) -> None:
    app.cli.add_command(shop)
