from __future__ import annotations

import pytest
from flask import Flask

from tests.sandbox.inspector.developer import Developer


@pytest.fixture
def developer(sandbox: Flask) -> Developer:
    return Developer(sandbox)
