"""Text in requests: what people write keeps the signs that are not seen, and nothing that could mislead a reader."""

from __future__ import annotations

from urllib.parse import quote

from tests.sandbox.actors import Merchant
from tests.sandbox.recipients.payees import START, bank, changes, creates, found, reads

#: Names that cannot be spelled, or not be read in the right order, without a sign that is not seen; and wide blanks.
NAMES = (
    "علی\u200cرضا",
    "ශ\u0dca\u200dරී",
    "രമേശന\u0d4d\u200d",
    "שרה (B\u200e) כהן",
    "C++\u200f שרה",
    "محمد\u061c 7",
    "山田\u3000太郎",
    "Anne\u00a0Marie",
)
#: The characters that no text may hold: control characters, and all that turns a stretch of text around.
MISLEADING = "\x00\x07\n\x7f\x85\u00ad\u202a\u202b\u202c\u202d\u202e\u2028\u2066\u2067\u2068\u2069\ufeff"


def test_a_name_keeps_its_joiners_direction_marks_and_wide_blanks(merchant: Merchant) -> None:
    for name in NAMES:
        made = creates(merchant, name=name, city=name, reference=name, bank=bank(accountName=name)).data
        seen = reads(merchant, made["id"]).data
        assert {seen["name"], seen["city"], seen["reference"], seen["bank"][0]["accountName"]} == {name}
        assert changes(merchant, START[0], name=name).data["name"] == name
        assert found(merchant, f"search={quote(name)}") == [name, name]


def test_what_could_mislead_a_reader_or_shows_nothing_is_refused(merchant: Merchant) -> None:
    misleading = [f"Ada{sign} Example" for sign in MISLEADING]
    unseen = [f" {sign}{sign} " for sign in "\u200c\u200d\u200e\u200f\u061c\u00a0\u3000"]
    for name in (*misleading, *unseen):
        refused = creates(merchant, name=name)
        told = "name must be a non-empty string of at most 200 printable characters."
        assert (refused.code, refused.message) == (400, told), ascii(name)
