"""Runs one of README's first two commands in this folder, as it stands there.

python3 .ci/readme_commands.py demo     # until its page answers, then stops it
python3 .ci/readme_commands.py tests    # to its end, with its exit code
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: In README's order, with how each ends.
COMMANDS = {"demo": "python -m example_shop", "tests": "python -m pytest"}
#: Seconds for the installation and the start of the demo, and for its stop.
STARTS_WITHIN, STOPS_WITHIN = 600, 30


def commands(text: str) -> dict[str, str]:
    """README's commands by name.

    :raises SystemExit: they are not in its first two console blocks; the text says what is there.
    """
    blocks = [block.strip() for block in re.findall(r"^```console\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)][:2]
    if len(blocks) < len(COMMANDS):
        raise SystemExit(f"README.md has {len(blocks)} console blocks; the first two start the demo and the tests.")
    for block, end in zip(blocks, COMMANDS.values(), strict=True):
        if "\n" in block or not block.endswith(end):
            raise SystemExit(f"README.md: one line that ends with '{end}' was expected in the place of:\n{block}")
    return dict(zip(COMMANDS, blocks, strict=True))


def run_demo(command: str) -> int:
    """Run a command until a page answers at the first address that it prints, and stop all its processes."""
    deadline = time.monotonic() + STARTS_WITHIN
    with tempfile.TemporaryFile("w+") as said:
        group = subprocess.Popen(  # noqa: S602 - the command is a line for a shell
            command, shell=True, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            while time.monotonic() < deadline and group.poll() is None:
                said.seek(0)
                address = re.search(r"http://[\w.:-]+/", said.read())
                if address is not None and answers(address[0]):
                    print(f"{address[0]} answers", flush=True)
                    return 0
                time.sleep(0.5)
            said.seek(0)
            print(said.read(), "\nNo page answered at an address that the command printed.", flush=True)
            return 1
        finally:
            stop(group)


def answers(address: str) -> bool:
    """Whether a page is there."""
    try:
        with urllib.request.urlopen(address, timeout=20) as page:  # noqa: S310 - http, by the pattern
            return page.status == 200
    except OSError:
        return False


def stop(group: subprocess.Popen[bytes]) -> None:
    """End a group of processes, by force where asking is not enough."""
    deadline = time.monotonic() + STOPS_WITHIN
    try:
        os.killpg(group.pid, signal.SIGTERM)
        while time.monotonic() < deadline:
            group.poll()
            os.killpg(group.pid, 0)
            time.sleep(0.2)
        os.killpg(group.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # All have ended.
    group.wait()


if __name__ == "__main__":
    name = sys.argv[1]
    line = commands((ROOT / "README.md").read_text(encoding="utf-8"))[name]
    print(line, flush=True)
    os.chdir(ROOT)
    if name == "demo":
        sys.exit(run_demo(line))
    sys.exit(subprocess.run(line, shell=True, stdin=subprocess.DEVNULL, check=False).returncode)  # noqa: S602
