"""The owner's page for paying suppliers: amounts owed, a button to pay, and all transfers with state and proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, abort, flash, redirect, render_template_string, request, url_for
from sqlalchemy import select

from example_shop import owner
from example_shop.database import db
from example_shop.hooks import hooks
from example_shop.ledger import Payout, owed
from example_shop.payouts import LEAST, decide, pay_out
from example_shop.rails import ReadableRail
from example_shop.suppliers import BY_SLUG, SUPPLIERS
from flask_paycheckout.client import PaymentsError

if TYPE_CHECKING:
    from flask import Flask
    from werkzeug.wrappers import Response

blueprint = Blueprint("payout_desk", __name__, url_prefix="/owner/payouts")
blueprint.before_request(owner.ask_for_password)

_PAGE = """{% extends "base.html" %}
{% block title %}Suppliers{% endblock %}
{% block main %}
<p class="back"><a href="{{ url_for('owner.desk') }}">The owner's desk</a></p>
<h1>Suppliers</h1>
<table class="orders">
  <thead><tr><th scope="col">Supplier</th><th scope="col">Paid by</th>
    <th scope="col" class="number">Owed</th></tr></thead>
  <tbody>
    {% for supplier in suppliers %}
    <tr>
      <th scope="row">{{ supplier.name }}</th>
      <td data-label="Paid by">{{ supplier.account.bank or "wallet, in " ~ supplier.account.token }}</td>
      <td class="number" data-label="Owed">{{ owed[supplier.slug]|money }}</td>
    </tr>
    {% endfor %}
  </tbody>
</table>
<form class="actions" action="{{ url_for('payout_desk.pay') }}" method="post">
  {{ csrf_field() }}
  <button>Pay what is owed</button>
</form>
<p class="hint">From {{ least|money }} on. Pressed twice, or after a lost answer, it pays nobody twice; what is on
  its way is looked up again.</p>

<h2>Transfers</h2>
{% if payouts %}
<table class="orders">
  <thead><tr><th scope="col">Reference</th><th scope="col">Supplier</th><th scope="col">Made</th><th scope="col">Is</th>
    <th scope="col">Proof</th><th scope="col" class="number">Amount</th></tr></thead>
  <tbody>
    {% for payout in payouts %}
    <tr>
      <th scope="row" class="code">{{ payout.reference }}</th>
      <td data-label="Supplier">{{ by_slug[payout.supplier].name }}</td>
      <td data-label="Made"><time datetime="{{ payout.made_at.isoformat() }}">
        {{- payout.made_at.strftime("%d %b, %H:%M") }}</time></td>
      <td data-label="Is"><span class="badge {{ payout.state }}">{{ payout.state }}</span></td>
      <td data-label="Proof">{% if payout.state == "completed" -%}
        <a href="{{ url_for('payout_desk.proof', reference=payout.reference) }}" download>
          PDF<span class="unseen"> of {{ payout.reference }}</span></a>
        {%- else %}–{% endif %}</td>
      <td class="number" data-label="Amount">{{ payout.amount }} {{ payout.currency }}</td>
    </tr>
    {% if payout.trouble or payout.state == "unknown" %}
    <tr class="notes"><td colspan="6">
      {% if payout.trouble %}<div>{{ payout.trouble }}</div>{% endif %}
      {% if payout.state == "unknown" %}
      <form class="actions" action="{{ url_for('payout_desk.settle', reference=payout.reference) }}" method="post">
        {{ csrf_field() }}
        <span class="question">The answer was lost. Look at the chain or the service's dashboard: did it leave?</span>
        <button class="quiet" name="sent" value="yes">It was sent</button>
        <button class="quiet" name="sent" value="no">It was not: send it</button>
      </form>
      {% endif %}
    </td></tr>
    {% endif %}
    {% endfor %}
  </tbody>
</table>
{% else %}
<div class="empty"><p>Nobody was paid yet.</p></div>
{% endif %}
{% endblock %}"""


@blueprint.get("/")
def desk() -> str:
    payouts = db.session.scalars(select(Payout).order_by(Payout.made_at.desc()).limit(100)).all()
    return render_template_string(
        _PAGE, suppliers=SUPPLIERS, by_slug=BY_SLUG, owed=owed(), least=LEAST, payouts=payouts
    )


@blueprint.post("/pay")
def pay() -> Response:
    pay_out()
    flash("The transfers below are as the service has them now.")
    return redirect(url_for("payout_desk.desk"), 303)


@blueprint.post("/<reference>/settle")
def settle(reference: str) -> Response:
    """Record whether a transfer in doubt was sent, as a person has checked."""
    if request.form.get("sent") not in ("yes", "no"):
        abort(400, "Was it sent, yes or no?")
    if not decide(reference, was_sent=request.form["sent"] == "yes"):
        abort(409, "This transfer is not in doubt.")
    flash("Noted.")
    return redirect(url_for("payout_desk.desk"), 303)


@blueprint.get("/<reference>/proof.pdf")
def proof(reference: str) -> tuple[bytes, dict[str, str]] | Response:
    payout = db.session.get(Payout, reference)
    if payout is None or payout.state != "completed" or payout.disbursement_id is None:
        abort(404)
    supplier, disbursement_id = BY_SLUG[payout.supplier], payout.disbursement_id
    db.session.rollback()  # the database must not wait for the service
    rails = [rail for rail in hooks().rails if isinstance(rail, ReadableRail) and rail.currency_for(supplier)]
    if not rails:
        abort(404)
    try:
        document = rails[0].proof(disbursement_id)
    except PaymentsError:
        flash("The service did not give the proof. Try again in a moment.")
        return redirect(url_for("payout_desk.desk"), 303)
    return document, {
        "Content-Type": "application/pdf",
        "Content-Disposition": f'attachment; filename="{reference}.pdf"',
        "Cache-Control": "no-store",
    }


def init_app(app: Flask) -> None:
    app.register_blueprint(blueprint)
    hooks(app).desk_pages.append(("payout_desk.desk", "Suppliers"))
