"""Run a sandbox: `python -m flask_paycheckout.sandbox`."""

from __future__ import annotations

import sys
from contextlib import suppress

from flask_paycheckout.sandbox.command import main

if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main())
