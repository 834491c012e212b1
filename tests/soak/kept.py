"""Compares the export of a kept SQLite soak with the service's books: `python -m tests.soak.kept FOLDER`.

The shop's database is copied, its tables are brought up to date, and what was sent before there were bookings is booked
from its history, so that a soak of an earlier version can be looked at too.
"""

from __future__ import annotations

import json
import shutil
import sys
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.soak.books import Books, each_movement_is_exported_once_and_in_order, the_export_equals_the_services_books
from tests.soak.clock import write_offset
from tests.soak.databases import Databases
from tests.soak.processes import Processes
from tests.soak.record import collect


def books_of(kept: Path) -> Books:
    """The books of both sides, exported by this version."""
    with TemporaryDirectory(prefix="soak-kept-") as name:
        folder = Path(name)
        for file in [*kept.glob("shop.db*"), *kept.glob("sandbox.db*")]:
            shutil.copyfile(file, folder / file.name)
        at = Databases(f"sqlite:///{folder / 'shop.db'}", f"sqlite:///{folder / 'sandbox.db'}")
        settings: dict[str, Any] = json.loads((kept / "settings.json").read_text())
        settings["config"]["SQLALCHEMY_DATABASE_URI"] = at.shop
        settings |= {"clock_file": str(folder / "clock"), "effects_file": str(folder / "effects")}
        write_offset(folder / "clock", timedelta())
        (folder / "settings.json").write_text(json.dumps(settings))
        with Processes(folder) as processes:
            processes.upgrade_tables()
            processes.run(folder / "filled", "fill-bookings")
            processes.run(folder / "export.jsonl", "export", "--format", "jsonl")
        print((folder / "filled").read_text().strip())
        return Books(collect(at, folder / "effects", folder / "export.jsonl", [], 0))


def main(kept: Path) -> int:
    books = books_of(kept)
    unknown = sum(row["status"] == "completed" and key not in books.checkouts for key, row in books.deposits.items())
    print(f"{len(books.exported)} lines; {unknown} deposits of checkouts whose answer was lost are left out")
    for what, currency in sorted(books.sums_exported.keys() | books.sums_at_service.keys()):
        key = what, currency
        print(f"{what:<9}{currency:<16}{books.sums_exported.get(key, 0):>24}{books.sums_at_service.get(key, 0):>24}")
    wrong = [*the_export_equals_the_services_books(books), *each_movement_is_exported_once_and_in_order(books)]
    print("\n".join(wrong) or "equal to the last digit, in every currency")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
