"""Fails unless the wheel is light and holds what users get: every module, template, static file, types marker, licence.

Every production installation carries it.
"""

from __future__ import annotations

import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "flask_paycheckout"
MOST_BYTES = 1_500_000


def faults(wheel: Path) -> Iterator[str]:
    """All that is wrong with a wheel, a line each."""
    held = set(zipfile.ZipFile(wheel).namelist())
    package = {
        path.relative_to(ROOT).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    folder = f"flask_paycheckout-{project['version']}.dist-info"
    licences = {f"{folder}/licenses/{file}" for file in project["license-files"]}
    wanted = package | licences | {"flask_paycheckout/py.typed", f"{folder}/entry_points.txt"}
    yield from (f"missing: {name}" for name in sorted(wanted - held))
    yield from (f"does not belong: {name}" for name in sorted(held - wanted) if not name.startswith(f"{folder}/"))
    if wheel.stat().st_size > MOST_BYTES:
        yield f"too large: {wheel.stat().st_size:,} bytes, at most {MOST_BYTES:,}"


def main(wheel: Path) -> int:
    found = list(faults(wheel))
    for fault in found:
        print(fault)
    if not found:
        print(f"{wheel.name}: {wheel.stat().st_size:,} bytes, nothing missing, nothing that does not belong")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
