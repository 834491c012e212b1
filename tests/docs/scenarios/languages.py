"""Signed calls from other languages, each where its interpreter is installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from flask_paycheckout.sandbox.world.assumptions import sign, string_to_sign
from flask_paycheckout.testing import Sandbox
from tests.docs.pages import Scene
from tests.sandbox.actors import CLIENT_ID, CLIENT_SECRET
from tests.serving import served


def signing_vectors(scene: Scene, paycheckout_sandbox: Sandbox) -> None:
    for vector in json.loads(scene[""]):
        text = string_to_sign(vector["method"], vector["target"], "1767225600", vector["body"].encode())
        assert sign(CLIENT_SECRET, text) == vector["signature"]
    schemes = paycheckout_sandbox.control("GET", "openapi.json")["components"]["securitySchemes"]
    assert {name for name, scheme in schemes.items() if scheme["description"]} == {
        *("X-Client-ID", "X-Timestamp", "X-Signature", "Authorization"),
    }


#: The file for a block of this language, the command that runs it, and what that needs.
_PROGRAMS = {
    "sh": ("checkout.sh", "sh", ("curl", "openssl")),
    "js": ("checkout.mjs", "node", ()),
    "php": ("checkout.php", "php", ()),
    "go": ("checkout.go", "go run", ()),
}


def signed_in_a_shell(scene: Scene, paycheckout_sandbox: Sandbox, tmp_path: Path) -> None:
    [block] = scene.blocks
    name, line, tools = _PROGRAMS[block.language]
    command = line.split()
    for tool in (command[0], *tools):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    file = tmp_path / name
    file.write_text(scene[""])
    with served(paycheckout_sandbox.app) as address:
        own = {"SANDBOX_URL": address, "CLIENT_ID": CLIENT_ID, "CLIENT_SECRET": CLIENT_SECRET}
        done = subprocess.run([*command, file], env=os.environ | own, capture_output=True, check=True, timeout=120)
    assert json.loads(done.stdout)["message"] == "Checkout created successfully"


signed_in_node = signed_in_php = signed_in_go = signed_in_a_shell
