from __future__ import annotations

import pytest
from flask import Flask

from tests.sandbox.auth.visitors import Visitor


@pytest.fixture
def visitor(sandbox: Flask) -> Visitor:
    return Visitor(sandbox)
