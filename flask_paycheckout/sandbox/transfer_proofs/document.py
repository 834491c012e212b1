"""Drawing a transfer proof: one A4 page, whatever the length of the names on it."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from fpdf import FPDF, XPos, YPos

from flask_paycheckout.sandbox.disbursements.batches import total
from flask_paycheckout.sandbox.disbursements.fiat_schemas import FiatDisbursement
from flask_paycheckout.sandbox.transfer_proofs.typefaces import (
    REGULAR,
    Paper,
    close_fonts,
    load_fonts,
    printable,
)
from flask_paycheckout.sandbox.world.context import assumption

# Millimetres of an A4 page.
_MARGIN, _WIDTH, _BOTTOM = 18.0, 174.0, 268.0
_LABEL_WIDTH = 48.0
_BAND_HEIGHT = 46.0
# Tried in turn until everything fits on the page.
_SIZES = (10.5, 9.0, 7.5, 6.0, 5.0, 4.0)
_LINES_PER_POINT = 0.56
# The most activities that are shown, the last ones: the end of a long history is what counts.
_MAX_ACTIVITIES = 6

_INK, _BAND, _PALE, _GREY, _GREEN = (28, 36, 48), (20, 46, 84), (198, 214, 236), (104, 116, 132), (32, 128, 84)

Rows = list[tuple[str, str]]


def transfer_proof(made: FiatDisbursement) -> bytes:
    """The proof as a PDF; the same disbursement always gives the same page."""
    for size in _SIZES:
        pdf = Paper(format="A4")
        try:
            _draw(pdf, made, size)
            if pdf.page_no() == 1 or size == _SIZES[-1]:
                return bytes(pdf.output())
        finally:
            close_fonts(pdf)
    raise AssertionError("the smallest size is always returned")


def _draw(pdf: FPDF, made: FiatDisbursement, size: float) -> None:
    pdf.set_creation_date(made.updated_at)
    pdf.set_title(f"Transfer proof {made.disbursement_id}")
    pdf.set_lang("en")
    # Else `{nb}` in a name or note would be printed as the number of pages.
    pdf.alias_nb_pages(None)  # type: ignore[arg-type]  # as its documentation says
    pdf.set_margins(_MARGIN, _MARGIN)
    pdf.set_auto_page_break(True, 297 - _BOTTOM)
    pdf.add_page()
    sections = _sections(made)
    missing = load_fonts(pdf, "".join(value for _, rows in sections for row in rows for value in row))
    _draw_band(pdf, made)
    for title, rows in sections:
        _draw_section(pdf, title, [(label, printable(value, missing)) for label, value in rows], size)
    if pdf.page_no() == 1:
        _draw_footer(pdf)


def _sections(made: FiatDisbursement) -> list[tuple[str, Rows]]:
    history = [(_moment(entry.moment), entry.activity) for entry in made.activity_history[-_MAX_ACTIVITIES:]]
    return [("Recipient", _recipient(made)), ("Transfer", _transfer(made)), ("History", history)]


def _recipient(made: FiatDisbursement) -> Rows:
    bank = made.recipient.bank
    return _present(
        ("Name", made.recipient.name),
        ("E-mail", made.recipient.email),
        ("Account name", bank.account_name),
        ("Account number", bank.account_number),
        ("Bank", f"{bank.bank_name} ({bank.bank_code})"),
        ("Country", bank.country),
    )


def _transfer(made: FiatDisbursement) -> Rows:
    fee_on_top = made.fee_amount if assumption("disbursement_fee") == "on_top" else Decimal(0)
    return _present(
        ("Disbursement", made.disbursement_id),
        ("Group", made.group_id),
        ("Reference", made.reference),
        ("Note", None if made.note is None else "\n".join(made.note.expandtabs(4).splitlines())),
        ("Amount", _money(made.amount, made.currency)),
        ("Fee", _money(made.fee_amount, made.currency)),
        ("Total", _money(total([made.amount, fee_on_top]), made.currency)),
        ("Requested", _moment(made.created_at)),
        ("Completed", _moment(made.updated_at)),
    )


def _present(*rows: tuple[str, str | None]) -> Rows:
    return [(label, value) for label, value in rows if value is not None]


def _money(amount: Decimal, currency: str) -> str:
    return f"{amount:,f} {currency}"


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def _draw_band(pdf: FPDF, made: FiatDisbursement) -> None:
    """The head of the page: what this is, how much, and that it has arrived."""
    pdf.set_fill_color(*_BAND)
    pdf.rect(0, 0, 210, _BAND_HEIGHT, style="F")
    pdf.set_xy(_MARGIN, 12)
    _write(pdf, "Transfer proof", 12, _PALE)
    pdf.set_xy(_MARGIN, 21)
    _write(pdf, _money(made.amount, made.currency), 26, (255, 255, 255), bold=True)
    _draw_badge(pdf)
    pdf.set_y(_BAND_HEIGHT + 8)


def _draw_badge(pdf: FPDF) -> None:
    left, width, height = 210 - _MARGIN - 32, 32.0, 8.0
    pdf.set_fill_color(*_GREEN)
    pdf.rect(left, 11, width, height, style="F", round_corners=True, corner_radius=4)
    pdf.set_xy(left, 11)
    pdf.set_font(REGULAR, "B", 9)
    pdf.set_text_color(255, 255, 255)
    pdf.cell(width, height, "Completed", align="C")


def _write(pdf: FPDF, text: str, size: float, colour: tuple[int, int, int], *, bold: bool = False) -> None:
    pdf.set_font(REGULAR, "B" if bold else "", size)
    pdf.set_text_color(*colour)
    pdf.cell(_WIDTH, size * 0.5, text, new_x=XPos.LMARGIN, new_y=YPos.NEXT)


def _draw_section(pdf: FPDF, title: str, rows: Rows, size: float) -> None:
    _write(pdf, title, size + 2, _BAND, bold=True)
    pdf.ln(size * 0.15)
    for label, value in rows:
        _draw_row(pdf, label, value, size)
    pdf.ln(size * 0.5)


def _draw_row(pdf: FPDF, label: str, value: str, size: float) -> None:
    height = size * _LINES_PER_POINT
    pdf.set_draw_color(*_PALE)
    pdf.set_font(REGULAR, "", size)
    pdf.set_text_color(*_GREY)
    pdf.cell(_LABEL_WIDTH, height, label)
    pdf.set_text_color(*_INK)
    pdf.multi_cell(_WIDTH - _LABEL_WIDTH, height, value, align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT)
    pdf.line(_MARGIN, pdf.get_y() + 0.4, _MARGIN + _WIDTH, pdf.get_y() + 0.4)
    pdf.ln(0.9)


def _draw_footer(pdf: FPDF) -> None:
    # Below the place where a page would break.
    pdf.set_auto_page_break(False)
    pdf.set_y(_BOTTOM + 6)
    _write(pdf, "Issued by the payments sandbox. No real money was moved.", 8, _GREY)
