"""The cost of loading the extension, compared with the modules that a shop loads anyway.

Each import runs in a new interpreter, whose own start does not count. Bytecode exists, as in every installed package:
the warm-up round compiles it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from tests.benchmarks.measuring import CPU_MS, MS, OURS, SAME_STACK, Contender, Figure, Options, Row

_FLOOR = "import flask, flask_sqlalchemy, httpx"
_OURS = "from flask_paycheckout import PayCheckout"
_MEASURED = """
import json, time
began, spent = time.perf_counter(), time.process_time()
{statement}
took = time.perf_counter() - began, time.process_time() - spent
print(json.dumps(took))
"""


def _imported(statement: str, times: int, bytecode: str) -> Contender:
    def contender() -> dict[str, float]:
        taken = [_import(statement, bytecode) for _ in range(times)]
        seconds, processor = (sum(part) / times for part in zip(*taken, strict=True))
        return {CPU_MS: 1000 * processor, MS: 1000 * seconds}

    return contender


def _import(statement: str, bytecode: str) -> tuple[float, float]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = bytecode
    command = [sys.executable, "-c", _MEASURED.format(statement=statement)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60, env=environment)
    seconds, processor = json.loads(done.stdout)
    return seconds, processor


@contextmanager
def _contenders(options: Options, database: str | None) -> Iterator[dict[str, Contender]]:
    times = options.amount(5, least=1)
    with tempfile.TemporaryDirectory(prefix="bench-") as bytecode:
        yield {OURS: _imported(_OURS, times, bytecode), SAME_STACK: _imported(_FLOOR, times, bytecode)}


ROW = Row(
    name="imports",
    title="`from flask_paycheckout import PayCheckout`, to flask + flask_sqlalchemy + httpx",
    shown=(Figure(CPU_MS, over=SAME_STACK),),
    contenders=_contenders,
)
