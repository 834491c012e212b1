"""The transfer proof as a PDF: a heading and one table, in a font that every reader of PDF has.

The font has the letters of Western Europe. Other letters are printed without their accents, or as a number: U+738B.
"""

from __future__ import annotations

import unicodedata
from datetime import datetime
from decimal import Decimal

from fpdf import FPDF

from flask_paycheckout.sandbox.disbursements.batches import total
from flask_paycheckout.sandbox.disbursements.fiat_schemas import FiatDisbursement

_FONT, _ENCODING = "helvetica", "latin-1"
_WIDTHS = (1, 3)
"""The widths of the columns, in proportion."""


def transfer_proof(disbursement: FiatDisbursement) -> bytes:
    """The proof as a PDF; the same disbursement always gives the same bytes."""
    pdf = FPDF()
    pdf.set_creation_date(disbursement.updated_at)
    pdf.set_title(f"Transfer proof {disbursement.disbursement_id}")
    pdf.set_lang("en")
    # Otherwise `{nb}` in a name or note would be printed as the number of pages.
    pdf.alias_nb_pages(None)  # type: ignore[arg-type]  # as its documentation says
    pdf.add_page()
    pdf.set_font(_FONT, "B", 18)
    pdf.cell(text=_printable(f"Transfer of {_money(disbursement.amount, disbursement.currency)}"))
    pdf.ln(14)
    pdf.set_font(_FONT, size=10)
    with pdf.table(col_widths=_WIDTHS, first_row_as_headings=False, text_align="L", padding=1) as table:
        for row in _rows(disbursement):
            table.row([_printable(cell) for cell in row])
    pdf.ln(6)
    pdf.cell(text="Issued by the payments sandbox. No real money was moved.")
    return bytes(pdf.output())


def _rows(disbursement: FiatDisbursement) -> list[tuple[str, str]]:
    bank = disbursement.recipient.bank
    rows = [
        ("Name", disbursement.recipient.name),
        ("E-mail", disbursement.recipient.email),
        ("Account name", bank.account_name),
        ("Account number", bank.account_number),
        ("Bank", f"{bank.bank_name} ({bank.bank_code})"),
        ("Country", bank.country),
        ("Disbursement", disbursement.disbursement_id),
        ("Group", disbursement.group_id),
        ("Reference", disbursement.reference),
        ("Note", disbursement.note),
        ("Amount", _money(disbursement.amount, disbursement.currency)),
        ("Fee", _money(disbursement.fee_amount, disbursement.currency)),
        ("Total", _money(total([disbursement.amount, disbursement.fee_amount]), disbursement.currency)),
        ("Requested", _moment(disbursement.created_at)),
        ("Completed", _moment(disbursement.updated_at)),
        *((entry.activity, _moment(entry.moment)) for entry in disbursement.activity_history[-_MAX_ACTIVITIES:]),
    ]
    return [(label, " ".join(value.split())) for label, value in rows if value is not None]


_MAX_ACTIVITIES = 20
"""The most entries of the history that are printed: the last ones, which show the outcome."""


def _money(amount: Decimal, currency: str) -> str:
    return f"{amount:,f} {currency}"


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def _printable(text: str) -> str:
    """The text in letters that the font has."""
    return "".join(map(_letter, unicodedata.normalize("NFC", text)))


def _letter(character: str) -> str:
    if character.encode(_ENCODING, "ignore"):
        return character
    if not character.isprintable():
        # Joiners and direction marks, which are invisible.
        return ""
    plain = unicodedata.normalize("NFKD", character).encode(_ENCODING, "ignore").decode(_ENCODING)
    return plain or f"U+{ord(character):04X} "
