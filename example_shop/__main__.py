"""The command `python -m example_shop`: starts the whole demo, prints all addresses, and stops on Ctrl-C."""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path

import click

from example_shop.serving import running_demo

_WELCOME = """
  Fair & Foul, weather by the jar

  Shop        {demo.shop_url}/
  Owner       {demo.shop_url}/owner/    password  {demo.owner_password}
  Warehouse   {demo.warehouse_url}/
  Payments    {demo.sandbox_url}/?token={demo.control_token}
              the sandbox's inspector; its control token is the end of the address

  From another terminal, the story of an order, and the money that goes out:
    export SHOP_SETTINGS={demo.settings_file}
    {flask} --app example_shop paycheckout show ORDER
    {flask} --app example_shop paycheckout payouts

  Ctrl-C stops everything. The sandbox forgets its payments, and the shop everything without --database.
"""

RECONCILE_EVERY = 2.0
"""Seconds between two rounds of reconcile."""


@click.command(context_settings={"show_default": True})
@click.option("--port", default=5000, help="The shop's port.")
@click.option("--sandbox-port", default=8790, help="The port of the payments sandbox.")
@click.option("--warehouse-port", default=5001, help="The warehouse's port.")
@click.option("--database", metavar="URL", help="The shop's database, which is kept; without it a new SQLite file.")
def main(port: int, sandbox_port: int, warehouse_port: int, database: str | None) -> None:
    """Run a small shop that takes payments."""
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    with running_demo(port, sandbox_port, warehouse_port, database) as demo:
        print(_WELCOME.format(demo=demo, flask=Path(sys.executable).with_name("flask")), flush=True)
        while not stopped.wait(RECONCILE_EVERY):
            demo.reconcile()
        print("  Stopping.", flush=True)


if __name__ == "__main__":
    main()
