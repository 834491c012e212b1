"""The owner's pages."""

from __future__ import annotations

import pytest

from tests.scripted import Shop
from tests.views.owner import opens_view


@pytest.fixture
def desk(shop: Shop) -> Shop:
    """A shop whose owner, Ada, looks at its payments."""
    return opens_view(shop)
