"""Builds the release: sdist and wheel, a file with their hashes, and an SBOM (a bill of materials, as CycloneDX).

Everything is built twice, and the build fails when the two results differ. `pip install -e '.[dev]'` installs all that
is needed. The SBOM lists the packages that an installation without extras brings, in the versions of this environment,
and the files of other projects that are copied into ours.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent


def built(folder: Path, seconds: str) -> dict[str, str]:
    """Build the sdist, and the wheel from it; give the hash of each file."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, env=os.environ | {"SOURCE_DATE_EPOCH": seconds}, stdout=subprocess.DEVNULL)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def required(name: str, found: dict[str, Distribution]) -> dict[str, Distribution]:
    """Add a distribution to `found`, and everything that it requires here without extras; returns `found`."""
    name = canonicalize_name(name)
    if name not in found:
        found[name] = distribution(name)
        for one in map(Requirement, found[name].requires or []):
            if one.marker is None or one.marker.evaluate({"extra": ""}):
                required(one.name, found)
    return found


def component(name: str, one: Distribution) -> dict[str, Any]:
    """A distribution as CycloneDX writes it."""
    purl = f"pkg:pypi/{name}@{one.version}"
    stated = one.metadata.get("License-Expression")
    licences = {"licenses": [{"expression": stated}]} if stated else {}
    return {"type": "library", "bom-ref": purl, "name": name, "version": one.version, "purl": purl} | licences


def sbom() -> dict[str, Any]:
    """The bill of materials; the same for the same environment."""
    found = required("flask-paycheckout", {})
    own, *others = [
        component(name, found[name]) for name in ["flask-paycheckout", *sorted(set(found) - {"flask-paycheckout"})]
    ]
    vendored = tomllib.loads((ROOT / "flask_paycheckout" / "vendored.toml").read_text(encoding="utf-8"))["vendored"]
    parts = [
        {"type": "library", "bom-ref": f"vendored:{one['name']}", "name": one["name"]}
        | ({"version": one["version"]} if "version" in one else {})
        | {"licenses": [{"expression": one["license"]}]}
        | {"externalReferences": [{"type": "website", "url": one["source"]}]}
        for one in vendored
        if one["files"][0].startswith("flask_paycheckout/")
    ]
    needs = {
        name: sorted(
            f"pkg:pypi/{other}@{found[other].version}"
            for one in map(Requirement, found[name].requires or [])
            if (other := canonicalize_name(one.name)) in found
            and (one.marker is None or one.marker.evaluate({"extra": ""}))
        )
        for name in sorted(found)
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own | {"components": parts}},
        "components": others,
        "dependencies": [
            {"ref": f"pkg:pypi/{name}@{found[name].version}", "dependsOn": sorted(set(refs))}
            for name, refs in needs.items()
        ],
    }


def main(folder: Path) -> int:
    git = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    seconds = subprocess.run(git, check=True, capture_output=True, text=True).stdout.strip()
    shutil.rmtree(folder, ignore_errors=True)
    hashes = built(folder, seconds)
    with tempfile.TemporaryDirectory() as other:
        again = built(Path(other), seconds)
    if hashes != again:
        print(f"built twice, and not the same: {hashes} and {again}")
        return 1
    bill = folder / "sbom.cdx.json"
    bill.write_text(json.dumps(sbom(), indent=1) + "\n", encoding="utf-8")
    hashes[bill.name] = hashlib.sha256(bill.read_bytes()).hexdigest()
    lines = [f"{digest}  {name}\n" for name, digest in hashes.items()]
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")
    print("".join(lines), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
