from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given, strategies as st

from tests.client.access import access_of
from tests.client.samples import RECIPIENT
from tests.client.wire import Script, Shop, paged, steady, success

WORD = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("use", "kind", "fault"),
    [
        (lambda c: c.recipients.list(limit=0), ValueError, "limit must be at least 1, not 0"),
        (lambda c: c.recipients.list(page=True), TypeError, "page must be a whole number, not bool"),
        (lambda c: c.references.banks(disbursment_available="yes"), TypeError, "must be True, False or None"),
        (lambda c: c.payments.list(min_input_amount=1.5), TypeError, "min_input_amount must be Decimal, int or str"),
        (lambda c: c.recipients.iterate(serach="Bo"), TypeError, "no argument 'serach'; there are limit, sort"),
        (lambda c: c.recipients.list(search="a" * 70_000), ValueError, "shorten the id or the filters"),
    ],
)
def test_a_wrong_filter_is_named_and_nothing_is_sent(
    use: Callable[[Any], object], kind: type[Exception], fault: str
) -> None:
    script = Script(success(paged(RECIPIENT)))
    with pytest.raises(kind, match=fault):
        use(Shop(script))
    assert script.requests == []


@steady
@given(st.dictionaries(st.sampled_from(["search", "country", "currency", "sort"]), WORD))
def test_any_word_arrives_as_it_was_given_and_is_signed(words: dict[str, str]) -> None:
    script = Script(success(paged(RECIPIENT)))
    Shop(script).recipients.list(limit=10, **words)  # type: ignore[arg-type]
    (request,) = script.requests
    assert access_of(request) == "signed"
    read = dict(parse_qsl(request.url.query.decode(), keep_blank_values=True, strict_parsing=True))
    assert read == {"limit": "10", **words}
