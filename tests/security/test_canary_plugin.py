"""The plugin that watches for secrets finds one planted at each place, and leaves alone what belongs."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.slow("runs of pytest")

ROOT = Path(__file__).parents[2]
SECRET = "canary-planted"

PLANTED = """
import logging, subprocess, sys, warnings
import click, pytest
from click.testing import CliRunner
from flask import Flask
from flask_paycheckout.client import BankDetails, PaymentsClient
from flask_paycheckout.sandbox import create_sandbox
from itsdangerous import URLSafeTimedSerializer
import hashlib

SECRET = "canary-planted"
log = logging.getLogger("some.library")

def page(body, headers=None):
    app = Flask("shop")
    app.add_url_rule("/", view_func=lambda: (body() if callable(body) else body, headers or {}))
    return app

def token():
    arguments = {"key_derivation": "hmac", "digest_method": hashlib.sha256}
    return URLSafeTimedSerializer("k", salt="s", signer_kwargs=arguments).dumps("o-1")

def raises(error):
    raise error

def test_leak_log_message():
    log.setLevel(logging.ERROR)
    log.debug("asked with %s", SECRET)

def test_leak_log_argument():
    log.debug("asked with %.6s", SECRET)

def test_leak_log_extra():
    log.debug("asked", extra={"body": SECRET})

def test_leak_log_traceback():
    try:
        raise ValueError(SECRET)
    except ValueError:
        log.debug("failed", exc_info=True)

def test_leak_warning():
    with pytest.warns(UserWarning):
        warnings.warn(f"{SECRET} is old")

def test_leak_output():
    print(SECRET)

def test_leak_read_output(capsys):
    print(SECRET, file=sys.stderr)
    assert capsys.readouterr().err

def test_leak_command():
    CliRunner().invoke(click.Command("tell", callback=lambda: click.echo(SECRET)))

def test_leak_command_error():
    CliRunner().invoke(click.Command("fail", callback=lambda: raises(ValueError(SECRET))))

def test_leak_process():
    subprocess.run([sys.executable, "-c", f"print({SECRET!r})"], capture_output=True)

def test_leak_raised():
    with pytest.raises(ValueError):
        raise ValueError(SECRET)

def test_leak_cause():
    with pytest.raises(KeyError):
        try:
            raise ValueError(SECRET)
        except ValueError as error:
            raise KeyError("other") from error

def test_leak_attribute_of_an_error():
    error = ValueError("quiet")
    error.body = SECRET
    with pytest.raises(ValueError):
        raise error

def test_leak_fault_of_a_request():
    app = page(lambda: raises(ValueError(SECRET)))
    assert app.test_client().get("/").status_code == 500

def test_leak_page():
    page(f"<p>{SECRET}</p>").test_client().get("/")

def test_leak_published_credential_in_a_shop():
    page("sandbox-secret-0123456789abcdef").test_client().get("/")

def test_leak_inspector_header():
    app = create_sandbox(control_token="levers-0123456789")
    app.after_request(lambda response: response.headers.set("X-Debug", "levers-0123456789") or response)
    app.test_client().get("/")

def test_leak_repr():
    repr(BankDetails(account_name=SECRET))

def test_leak_order_token():
    page(f"<p>order {token()}</p>").test_client().get("/")

def test_leak_payment_url():
    log.debug("sent to https://pay.example/checkout/chk-1")

def test_clean_order_token_in_a_url():
    page(f'<a href="/paycheckout/orders/{token()}">').test_client().get("/")

def test_clean_service_answer():
    app = create_sandbox(control_token="levers-0123456789")
    app.test_client().post("/v1/auth/login", json={"email": "a@b.c", "password": SECRET})

def test_clean_hidden_values():
    repr(BankDetails(account_name="Ann", account_number=SECRET, iban_number=SECRET))
    repr(PaymentsClient("https://api.example.com", client_id="c", client_secret=SECRET))

def test_clean_words():
    log.warning("no secret, password or token is told")
    assert "quiet"
"""


def test_a_secret_planted_at_any_place_is_found_and_not_repeated(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makepyfile(PLANTED)
    leaks, clean = PLANTED.count("def test_leak_"), PLANTED.count("def test_clean_")
    quiet = ("--show-capture=no", "-p", "no:randomly", "-p", "no:cacheprovider", "-rE")
    result = pytester.runpytest_subprocess("-p", "tests.canaries", *quiet, timeout=300)
    result.assert_outcomes(passed=leaks + clean, errors=leaks)
    told = result.stdout.str()
    found = {line.split("::")[1].split(" ")[0] for line in told.splitlines() if line.startswith("ERROR ")}
    assert found == {name.split("(")[0] for name in PLANTED.split("def ") if name.startswith("test_leak_")}
    assert "raised shows canary: ...ValueError: ***" in told
    assert SECRET not in told
