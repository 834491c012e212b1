"""Refusals of commands say what is wrong, and then give a remedy."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from tests.conftest import OpenShop
from tests.docs.merchant import shop_source
from tests.payouts.shop import payouts, pays_out
from tests.scripted import Shop
from tests.test_cli import runs


@pytest.mark.parametrize("command", [["report"], ["show", "o-1"], ["reconcile"]])
def test_a_command_without_tables_leads_to_the_doctor(open_shop: OpenShop, command: list[str]) -> None:
    shop = open_shop()
    with shop.app.app_context():
        shop.db.drop_all()
    ran = runs(shop, *command)
    assert ran.exit_code == 1
    assert "no such table" in ran.output
    assert ran.output.endswith("flask paycheckout doctor\n")
    assert "Traceback" not in ran.output


@pytest.mark.on_each_database("pg8000")
@pytest.mark.parametrize("change", ["DROP COLUMN found_by", "RENAME TO elsewhere"])
def test_a_call_without_tables_or_columns_names_the_remedy(shop: Shop, change: str) -> None:
    shop.executes(sa.text(f"ALTER TABLE paycheckout_checkout {change}"))
    with shop.app.app_context(), pytest.raises(DBAPIError, match="Bring the tables up to date"):
        shop.paycheckout.start("o-1")


SAID = "--by Ada --why x"


@pytest.mark.parametrize(
    ("command", "exit_code", "message"),
    [
        ("resolve chk-1 " + SAID, 2, "--accept"),
        (f"resolve chk-1 --accept --reject {SAID}", 2, "either"),
        ("resolve chk-1 --accept --by ' ' --why x", 2, "by must not be empty"),
        (f"resolve chk-404 --accept {SAID}", 1, "no checkout 'chk-404'"),
        (f"resolve chk-2 --accept {SAID}", 1, "is created"),
        (f"refund chk-3 --send 0 usdc-polygon {SAID}", 2, "'--send': send 0 in usdc-polygon is not positive"),
        ("refund chk-3 --by ' ' --why x", 2, "'--by': by must not be empty"),
        ("refund chk-3 --by Ada --why ''", 2, "'--why': why must not be empty"),
        (f"refund chk-3 --amount 1.2345 {SAID}", 2, "more decimals than USD has (2). Write at most 2 decimals"),
        (f"refund 'chk\n3' {SAID}", 2, "'CHECKOUT_ID': checkout_id must have"),
        (f"refund chk-3 --amount 12.51 {SAID}", 1, "12.50 USD are left"),
        (f"refund chk-404 {SAID}", 1, "no checkout 'chk-404'"),
        (f"refund chk-2 {SAID}", 1, "nothing can be refunded"),
        ("payouts approve maker-1 --by Ada", 2, "--seen"),
        ("payouts approve maker-404 --seen 0 --by Ada", 1, "no payout 'maker-404' is stored"),
        ("payouts cancel maker-1 --by Ada --why ' '", 2, "'--why': why must not be empty"),
        (f"payouts retry maker-1 {SAID}", 1, "it cannot be tried again, since it waits for approval"),
        (f"payouts resolve maker-1 {SAID}", 2, "Give either --sent or --not-sent."),
        (f"payouts resolve maker-1 --sent {SAID}", 1, "Only an unknown payout"),
        ("payouts proof maker-1 x.pdf", 1, "Only a completed bank transfer has one"),
    ],
)
def test_a_refused_command_is_explained_in_a_sentence(shop: Shop, command: str, exit_code: int, message: str) -> None:
    """The shop has a held, a new and a paid checkout, and a payout that waits for approval."""
    shop.costs("12.50", "o-3")
    shop.has_held("o-1")
    shop.starts("o-2")
    shop.has_paid("o-3")
    pays_out(shop, approve=True)
    ran = runs(shop, *shlex.split(command))
    assert ran.exit_code == exit_code
    assert message in " ".join(ran.output.split())
    assert "Traceback" not in ran.output
    assert (shop.attempt("chk-1").status, [payout.status for payout in payouts(shop)]) == ("held", ["waiting"])


def test_a_shop_without_settings_is_told_what_to_set_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(shop_source())
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FLASK_")}
    command = [str(Path(sys.executable).parent / "flask"), "--app", "shop", "paycheckout", "doctor"]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 1
    assert ran.stderr.startswith("Error: PAYCHECKOUT_BASE_URL is not set. Set the service's address, or run")
    assert len(ran.stderr.splitlines()) == 1
