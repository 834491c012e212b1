from __future__ import annotations

from pathlib import Path

import pytest

from flask_paycheckout.sandbox.transfer_proofs import font_files


@pytest.fixture
def system_fonts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The one folder of system fonts; it is empty."""
    monkeypatch.setattr(font_files, "SYSTEM_FOLDERS", (str(tmp_path),))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path
