"""The container files: what they run is run here, with PostgreSQL beside it. `.ci/run` checks them with linters."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.merchant import visited
from tests.ports import free_port
from tests.sandbox.actors import CONTROL_TOKEN

ROOT = Path(__file__).parents[3]
FILES = ROOT / "docs" / "team"
SECRETS = {
    "SANDBOX_PASSWORD": "canary-operator",
    "SANDBOX_CONTROL_TOKEN": CONTROL_TOKEN,
    "POSTGRES_PASSWORD": "canary-database",
}


def instructions() -> Iterator[tuple[str, str]]:
    """The instructions of the Dockerfile with their arguments, in order."""
    text = re.sub(r"\\\n", " ", (FILES / "Dockerfile").read_text())
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, arguments = line.partition(" ")
            yield name, arguments


def all_of(name: str) -> list[str]:
    return [arguments for found, arguments in instructions() if found == name]


def compose() -> dict[str, Any]:
    """The compose file as `docker compose` reads it, with the secrets of this test."""

    def value(found: re.Match[str]) -> str:
        name, sign, text = found.groups()
        return SECRETS[name] if sign == ":?" else text

    text = re.sub(r"\$\{(\w+)(:[-?])([^}]*)\}", value, (FILES / "compose.yaml").read_text())
    return dict(yaml.safe_load(text))


def test_the_container_has_no_rights_and_no_secret() -> None:
    user = all_of("USER")[-1]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)
    service = compose()["services"]["sandbox"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["ports"] == ["127.0.0.1:8790:8790"]
    written = yaml.safe_load((FILES / "compose.yaml").read_text())["services"].values()
    settings = [pair for one in written for pair in one["environment"].items() if re.search("PASSWORD|TOKEN", pair[0])]
    assert len(settings) == 4
    assert [name for name, value in settings if not value.startswith("${")] == []
    assert not re.search("PASSWORD|TOKEN", (FILES / "Dockerfile").read_text())
    # Secrets are in the environment, never among the arguments, which every user of the machine sees.
    assert not [one for one in service["command"] if any(secret in one for secret in SECRETS.values())]


@pytest.mark.slow("documented programs")
def test_what_the_files_run(tmp_path: Path, postgres_database: str) -> None:
    install(tmp_path)
    services = compose()["services"]
    settings = dict(services["sandbox"]["environment"])
    database = services["database"]["environment"]
    address = f"postgresql://{database['POSTGRES_USER']}@database/{database['POSTGRES_DB']}"
    assert settings["SANDBOX_DATABASE"] == address
    assert settings["PGPASSWORD"] == database["POSTGRES_PASSWORD"]
    settings["SANDBOX_DATABASE"] = postgres_database
    port, here = str(free_port()), tmp_path / "empty"
    here.mkdir()
    command = [*json.loads(all_of("ENTRYPOINT")[-1]), *services["sandbox"]["command"], "--port", port]
    assert command[3:4] == [f"{json.loads(all_of('CMD')[-1])[0]}={json.loads(all_of('CMD')[-1])[1]}"]
    environment = of_container(tmp_path) | settings
    check = json.loads(all_of("HEALTHCHECK")[-1].partition("CMD ")[2])
    ask = [part.replace(":8790", f":{port}") for part in check]
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    process = subprocess.Popen(command, cwd=here, env=environment, **streams)
    try:
        assert visited(f"http://127.0.0.1:{port}/").url.endswith("/inspector/sign-in")
        assert subprocess.run(ask, env=environment, timeout=60).returncode == 0
        process.send_signal(signal.Signals[all_of("STOPSIGNAL")[-1]])
        said, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        assert said.startswith("The shared payments sandbox is listening at http://localhost:8790/.")
        assert not [secret for secret in SECRETS.values() if secret in said]
    finally:
        process.kill()
        process.communicate(timeout=60)
    assert subprocess.run(ask, env=environment, stderr=subprocess.DEVNULL, timeout=60).returncode != 0
    assert list(here.iterdir()) == []


def install(folder: Path) -> None:
    """Copy what the Dockerfile copies, and run what it runs, below a folder in the place of the root."""
    source = folder / "src"
    source.mkdir()
    for names in all_of("COPY"):
        *parts, _ = shlex.split(names)
        for name in parts if not names.startswith("--from") else []:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, source / name)
    known = tomllib.loads((source / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (run,) = all_of("RUN")
    extras = re.findall(r"\.\[([\w,]+)\]", run)[0].split(",")
    assert set(extras) <= set(known)
    # What the package needs is installed here already, and is not fetched again.
    once = {"PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0"}
    environment = of_container(folder) | once
    subprocess.run(["/bin/sh", "-c", here_of(run, folder)], cwd=source, env=environment, check=True, timeout=120)


def here_of(text: str, folder: Path) -> str:
    return text.replace("/venv", f"{folder}/venv")


def of_container(folder: Path) -> dict[str, str]:
    """The environment that the Dockerfile sets; what the package needs is found where this test finds it."""
    libraries = sysconfig.get_paths()["purelib"]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    found = {"PATH": path, "PYTHONPATH": libraries, "HOME": str(folder)}
    for line in all_of("ENV"):
        for name, value in re.findall(r'(\w+)="?([^"\s]+)"?', line):
            found[name] = here_of(value, folder).replace("$PATH", path)
    return found
