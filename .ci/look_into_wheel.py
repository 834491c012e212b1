"""Fails unless the wheel holds what users get: every module, template, static file, types marker and licence."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "flask_paycheckout"


def main(wheel: str) -> int:
    held = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        str(path.relative_to(PACKAGE.parent))
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    missing = sorted(wanted - held)
    strangers = sorted(name for name in held - wanted if ".dist-info/" not in name)
    unlicensed = not any(name.endswith("/LICENSE") for name in held)
    for name in missing:
        print(f"missing: {name}")
    for name in strangers:
        print(f"does not belong: {name}")
    if unlicensed:
        print("missing: LICENSE")
    if missing or strangers or unlicensed or "flask_paycheckout/py.typed" not in held:
        return 1
    print(f"{Path(wheel).name}: {len(wanted)} files of the package, all there")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
