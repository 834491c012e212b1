"""The command `python -m example_shop`: starts the whole demo, prints all addresses, and stops on Ctrl-C."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import threading
from pathlib import Path

from example_shop.serving import Demo, PortTakenError

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

  Ctrl-C stops everything{forgets}.
"""


def port(text: str) -> int:
    """Parse a port number; ValueError for anything else."""
    number = int(text)
    if not 0 <= number <= 65535:
        raise ValueError(text)
    return number


def read_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m example_shop", description="A small shop that takes payments.")
    parser.add_argument("--port", type=port, default=5000, help="the shop's (default 5000; 0 is any free one)")
    parser.add_argument("--sandbox-port", type=port, default=8790, help="the payments sandbox's (default 8790)")
    parser.add_argument("--warehouse-port", type=port, default=5001, help="the warehouse's (default 5001)")
    parser.add_argument("--database", metavar="URL", help="the shop's, which is kept; a new SQLite file when left out")
    parser.add_argument("--no-webhooks", action="store_true", help="the service tells nobody of payments")
    return parser.parse_args(arguments)


def flask_command() -> str:
    """How another terminal in this folder calls the `flask` beside this Python."""
    beside = Path(sys.executable).with_name("flask")
    return "flask" if shutil.which("flask") == str(beside) else os.path.relpath(beside)


def main(arguments: list[str] | None = None) -> int:
    options = read_arguments(arguments)
    enough = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: enough.set())
    try:
        demo = Demo(
            port=options.port,
            sandbox_port=options.sandbox_port,
            warehouse_port=options.warehouse_port,
            database=options.database,
            webhooks=not options.no_webhooks,
        )
    except PortTakenError as taken:
        print(taken, "The options are --port, --sandbox-port and --warehouse-port.", file=sys.stderr)
        return 2
    with demo:
        forgets = "; the sandbox forgets its payments" if options.database else " and forgets everything"
        print(_WELCOME.format(demo=demo, forgets=forgets, flask=flask_command()), flush=True)
        enough.wait()
        print("  Stopping.", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
