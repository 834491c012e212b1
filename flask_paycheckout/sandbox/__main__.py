"""Run a sandbox: `python -m flask_paycheckout.sandbox`."""

from __future__ import annotations

import sys

from flask_paycheckout.sandbox.terminal.commands import main

if __name__ == "__main__":
    sys.exit(main())
