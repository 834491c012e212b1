"""The documentation as a website: axe-core finds no fault on a page of each kind, and code fits the desktop width."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.looking import faults
from tests.docs.pages import ROOT

#: Pages with code, with wide tables, with a reference and with pictures, and pages that Sphinx generates.
PAGES = ("quickstart", "sandbox-control", "api-client", "owners-guide", "index", "genindex", "search")
# Blocks of code with a line that is wider than its block.
_WRAPPED = """() => [...document.querySelectorAll("div.highlight-python pre")].map((block) => {
  const {lineHeight} = getComputedStyle(block), lines = block.textContent.trimEnd().split("\\n").length;
  return block.clientHeight > (lines + 1) * parseFloat(lineHeight) + 20 ? block.textContent : "";
}).filter(Boolean)"""


def test_no_page_of_the_documentation_has_a_fault(new_page: Callable[..., Page], tmp_path: Path) -> None:
    pytest.importorskip("sphinx")
    subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "docs", str(tmp_path)], cwd=ROOT, check=True)
    page = new_page(reduced_motion="reduce", viewport={"width": 1280, "height": 800})
    faults_by_page = {}
    for name in PAGES:
        page.goto((tmp_path / f"{name}.html").as_uri())
        wrapped = page.evaluate(_WRAPPED)
        if wrong := wrapped + faults(page):
            faults_by_page[name] = wrong
    assert faults_by_page == {}
