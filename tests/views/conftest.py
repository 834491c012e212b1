"""Fixtures of the tests of the owner's pages."""

from __future__ import annotations

import pytest

from tests.scripted import Shop
from tests.views.owner import opens_view


@pytest.fixture
def desk(shop: Shop) -> Shop:
    """A shop with the owner's pages, opened by Ada."""
    return opens_view(shop)
