"""Refusals say what is wrong, and then what to do, in the commands that people type."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import OpenShop
from tests.docs.merchant import shop_source
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


def types(folder: Path, *command: str, **environment: str) -> str:
    """What the command says, which fails."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FLASK_")}
    flask = Path(sys.executable).parent / "flask"
    done = subprocess.run(
        [flask, *command], cwd=folder, env=kept | environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    return done.stderr


def test_a_shop_without_settings_is_told_what_to_set_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(shop_source())
    said = types(tmp_path, "--app", "shop", "paycheckout", "doctor")
    assert said.startswith("Error: PAYCHECKOUT_BASE_URL is not set. Set the service's address, or run")
    assert len(said.splitlines()) == 1


def test_an_app_without_the_extension_is_told_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "bare.py").write_text("from flask import Flask\n\napp = Flask(__name__)\n")
    said = types(tmp_path, "--app", "bare", "paycheckout", "report")
    assert said == "Error: PayCheckout is not set up on 'bare'. Call paycheckout.init_app(app, db) where it is made.\n"
