"""README's commands, its quick start, and the commands that contributors type."""

from __future__ import annotations

import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from importlib.util import find_spec

import requests

from example_shop.app import FEATURES
from tests.docs.merchant import PATIENCE, Merchant, pays_in_the_browser, visited
from tests.docs.pages import ROOT, Scene, read
from tests.waiting import eventually


def first_commands(scene: Scene) -> None:
    """`.ci/run` runs these two commands unchanged, in a new clone."""
    taken = runpy.run_path(str(ROOT / ".ci" / "readme_commands.py"))["commands"](read("README.md"))
    assert list(taken.values()) == scene.commands()
    pipeline = read(".ci/run")
    assert all(f"readme_commands.py {name}\n" in pipeline for name in taken)


def quick_start(scene: Scene, merchant: Merchant) -> None:
    source = scene["shop.py"]
    assert len(source.splitlines()) <= 40
    merchant.writes("shop.py", source)
    install, sandbox, *lines = scene.commands()
    assert "pip install '../flask_paycheckout[sandbox]'" in install
    exports = [line for line in lines if line.startswith("export FLASK_PAY")]
    with merchant.running(sandbox, "Ctrl-C") as (_, printed):
        assert [line.rstrip("\n") for line in printed if line.startswith("export ")] == list(
            map(merchant.here, exports)
        )
        run = lines.index("flask --app shop run")
        for line in lines[:run]:
            merchant.runs(line)
        with merchant.running(lines[run], "Running on"):
            order = f"{merchant.shop}/orders/1"
            pays_in_the_browser(order)
            eventually(lambda: "Paid: see your receipt" in visited(order).text, PATIENCE)
            watch, show, doctor = lines[run + 1 :]
            with merchant.running(watch, None) as (watching, _):
                assert "Order 1: paid" in merchant.runs(show)
                registered = sandbox.partition("--webhook-url ")[2]
                report = merchant.runs(doctor)
                assert f"Webhook URL to register: {registered}\n" in report
                assert "journal mode" not in report
                assert watching.poll() is None, "it goes on, and says nothing while nothing happens"


def copied_shop(scene: Scene, merchant: Merchant) -> None:
    """The example shop under another name, without the parts that the page lets remove, takes a payment."""
    install, copy, rename, *exports, doctor, run = scene.commands()
    assert "pip install '../flask_paycheckout[demo]'" in install
    merchant.writes("weather.cfg", scene["weather.cfg"].replace('""', '"0123456789abcdef-of-this-test"'))
    for line in (copy.replace("../flask_paycheckout", shlex.quote(str(ROOT))), rename, *exports):
        merchant.runs(line)
    shop = merchant.folder / "weather"
    features = [f"{feature}.py" for feature in FEATURES]
    for name in ("__main__.py", "serving.py", "warehouse.py", "templates/warehouse.html", *features):
        (shop / name).unlink()
    for feature in FEATURES:
        shutil.rmtree(shop / "templates" / feature, ignore_errors=True)
    app, payments = (shop / "app.py").read_text(), (shop / "payments.py").read_text()
    (shop / "app.py").write_text(re.sub(rf'    "({"|".join(FEATURES)})",  # .*\n', "", app))
    (shop / "payments.py").write_text(payments.replace("return round(order.total / 5, 2)", "return None"))
    with merchant.running("flask paycheckout sandbox", "Ctrl-C"):
        assert "order_paid: 1 receiver\n" in merchant.runs(doctor)
        with merchant.running(run, "Running on"):
            order = _orders_eight_jars(merchant.shop)
            assert "Pay $256.00" in visited(order).text
            pays_in_the_browser(order)
            merchant.runs("flask --app weather paycheckout reconcile")
            assert "Paid, thank you!" in visited(order).text


def _orders_eight_jars(shop: str) -> str:
    """Place an order with the shop's forms; returns the address of the order's page."""
    with requests.Session() as visitor:
        page = visitor.get(f"{shop}/jars/distant-thunder", timeout=60)
        csrf = re.search(r'name="csrf_token" value="([^"]+)"', page.text)
        assert csrf is not None
        for path, typed in {
            "/basket/add": {"slug": "distant-thunder", "quantity": "8"},
            "/orders/new": {"name": "Grace", "email": "grace@example.com"},
        }.items():
            page = visitor.post(shop + path, data=typed | {"csrf_token": csrf[1]}, timeout=60)
        assert "/orders/" in page.url, page.text
        return page.url


def by_hand(scene: Scene) -> None:
    """Commands that other tests run, take too long, or change the environment exist and accept their arguments."""
    for line in scene.commands():
        for command in line.partition(" > ")[0].split(" && "):
            _check(shlex.split(command))


def _check(words: list[str]) -> None:
    """Check that a command's files, make target, module, options and extra exist."""
    for path in words:
        if path.startswith(("tests/", "docs/", ".ci/")) and "build" not in path:
            assert (ROOT / path).exists(), path
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", read("Makefile"), re.MULTILINE), words
    if "pip" in words:
        extra_names = tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"]
        for extras in re.findall(r"\[([\w,]+)\]", " ".join(words)):
            assert set(extras.split(",")) <= {*extra_names, "redis"}, extras
    # tests/docs/test_facts.py compares each command of `flask paycheckout` with its options.
    elif words[:2] == ["python", "-m"]:
        assert find_spec(words[2]), words
        assert [word for word in words if word.startswith("--") and word not in _help(words[2])] == []


@cache
def _help(module: str) -> str:
    command = [sys.executable, "-m", module, "--help"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
