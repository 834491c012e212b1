"""Run a sandbox: `python -m flask_paycheckout.sandbox`."""

from __future__ import annotations

import sys
from contextlib import suppress

from flask_paycheckout.sandbox.terminal.commands import command_of, run

if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        command = command_of(sys.argv[1:])
        if command is not None:
            sys.exit(run(command))
        # Imported here: what serves a sandbox takes a second, which no command needs.
        from flask_paycheckout.sandbox.command import main

        sys.exit(main())
