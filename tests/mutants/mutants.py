"""The planted faults: what each would mean for a shop, the edit, and a test that dies of it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MUTANTS", "Edit", "Mutant"]


@dataclass(frozen=True)
class Edit:
    """A piece of a module of `flask_paycheckout/`, and what takes its place."""

    module: str
    before: str
    after: str


@dataclass(frozen=True)
class Mutant:
    """A fault by name, and where in `tests/` it is caught: a file, with a test's name or parts of it for `-k`."""

    name: str
    edits: tuple[Edit, ...]
    caught_in: str
    by: str


MUTANTS = (
    Mutant(
        "the event is stored in a second transaction",
        (
            Edit(
                "store/checkouts.py",
                "            events.append(self._store_event(connection, shop, to, row, now, reason))\n",
                """            connection.commit()
            events.append(self._store_event(connection, shop, to, row, now, reason))
""",
            ),
        ),
        "store/test_checkouts.py",
        "test_a_move_whose_event_cannot_be_stored_does_not_happen and sqlite",
    ),
    Mutant(
        "an event counts as delivered before its receivers were called",
        (
            Edit(
                "checkouts/outbox.py",
                "        failure: BaseException | None = None\n",
                "        self._mark(event)\n        failure: BaseException | None = None\n",
            ),
        ),
        "checkouts/test_outbox.py",
        "test_only_the_receiver_that_failed_runs_again",
    ),
    Mutant(
        "the amount is not compared",
        (
            Edit(
                "rules/matching.py",
                "isinstance(amount, Decimal) and amount == total.amount",
                "isinstance(amount, Decimal)",
            ),
        ),
        "rules/test_matching.py",
        "test_each_comparison_names_what_differs",
    ),
    Mutant(
        "the currency is not compared",
        (Edit("rules/matching.py", 'Currency", total.currency, currency)', 'Currency", str(currency), currency)'),),
        "rules/test_matching.py",
        "test_each_comparison_names_what_differs",
    ),
    Mutant(
        "amounts are compared as floats",
        (Edit("rules/matching.py", "amount == total.amount", "float(amount) == float(total.amount)"),),
        "money/test_spellings.py",
        "test_each_spelling",
    ),
    Mutant(
        "the deposit's own id is not compared",
        (Edit("rules/matching.py", '_same("depositId", checkout_id,', '_same("depositId", str(deposit.deposit_id),'),),
        "rules/test_matching.py",
        "test_each_comparison_names_what_differs",
    ),
    Mutant(
        "the webhook's own words are believed",
        (
            Edit(
                "views/webhook.py",
                'msgspec.field(name="orderId", default=msgspec.UNSET)\n',
                'msgspec.field(name="orderId", default=msgspec.UNSET)\n    status: str = ""\n',
            ),
            Edit(
                "views/webhook.py",
                "            runtime().receive_webhook(payload.order_id)\n",
                """            attempts, found = runtime().attempts, runtime().attempts.find(notice.order_id)
            if found is not None and notice.status == "completed":
                attempts.move(found, Status.PAID, runtime().clock(), "{}\\n", next_read_at=None)
            runtime().receive_webhook(payload.order_id)
""",
            ),
            Edit(
                "views/webhook.py",
                "from flask_paycheckout.runtime import runtime\n",
                "from flask_paycheckout.runtime import runtime\nfrom flask_paycheckout.rules.states import Status\n",
            ),
        ),
        "views/test_webhook.py",
        "test_what_the_webhook_itself_says_is_not_evidence",
    ),
    Mutant(
        "an event may be stored twice",
        (Edit("store/models.py", "String(600), unique=True)", "String(600))"),),
        "store/test_models.py",
        "test_the_database_itself_refuses_to_tell_an_order_paid_twice",
    ),
    Mutant(
        "reconcile does nothing",
        (
            Edit(
                "checkouts/reconcile.py",
                "        report = _delivered(self._outbox.deliver_due())\n",
                "        return ReconcileReport()\n        report = _delivered(self._outbox.deliver_due())\n",
            ),
        ),
        "journeys/test_paying.py",
        "sqlite",
    ),
    Mutant(
        "a customer is sent to a page before it is stored",
        (
            Edit(
                "checkouts/start.py",
                "        event = self._attempts.store(",
                """        from threading import Thread

        late = Thread(target=self._attempts.store, args=(order_id, link.id, link.url, total, self._clock(), current))
        late.start()
        return type(self)._sent(link, order_id)

    @staticmethod
    def _sent(link, order_id):
        from types import SimpleNamespace

        return SimpleNamespace(checkout_id=link.id, order_id=order_id, url=link.url, status="created")

    def _never(self, order_id, link, total, current):
        event = self._attempts.store(""",
            ),
        ),
        "checkouts/test_start.py",
        "test_the_page_is_stored_and_told_before_its_url_is_known_to_anybody",
    ),
    Mutant(
        "webhooks have no cool-down",
        (
            Edit(
                "store/checkouts.py",
                '"free": now - cooldown, ',
                '"free": now, ',
            ),
        ),
        "views/test_webhook.py",
        "test_many_webhooks_of_one_checkout_cost_one_read_per_cool_down",
    ),
    Mutant(
        "a webhook that could not be stored is answered with 200",
        (
            Edit(
                "views/webhook.py",
                '        return _answer(503, error="not stored, send it again")\n',
                "        return _answer(200, received=True)\n",
            ),
        ),
        "views/test_webhook.py",
        "test_what_could_not_be_stored_is_a_503_and_comes_again",
    ),
    Mutant(
        "the order is not asked for its total again when the money comes",
        (
            Edit(
                "checkouts/settlement.py",
                "        total = self._total_in(transaction, attempt)\n",
                "        total = attempt.total\n",
            ),
        ),
        "checkouts/test_settlement.py",
        "order_changed or order_not_payable or changed",
    ),
    Mutant(
        "the order is asked for its total outside the transaction that moves",
        (
            Edit(
                "checkouts/settlement.py",
                "        total = self._total_in(transaction, attempt)\n",
                """        from flask_paycheckout.runtime import runtime

        total = runtime().ask_total(attempt.order_id)
""",
            ),
        ),
        "races/test_changed_carts.py",
        "test_a_cart_that_changes_while_it_is_settled and postgresql and changed and delivered",
    ),
    Mutant(
        "SQLite is not locked before the order is asked for its total",
        (
            Edit(
                "store/checkouts.py",
                "                if asks_shop and self.single_writer and not",
                "                if False and not",
            ),
        ),
        "races/test_changed_carts.py",
        "test_a_cart_that_changes_while_it_is_settled and sqlite and changed and delivered",
    ),
    Mutant(
        "a move is committed although its atomic receiver raised",
        (
            Edit(
                "store/shop_transaction.py",
                "                if is_lost_race(error):\n",
                "                return\n                if is_lost_race(error):\n",
            ),
        ),
        "checkouts/test_atomic.py",
        "test_nothing_is_committed_when_an_atomic_receiver_raises and sqlite",
    ),
    Mutant(
        "an atomic receiver may commit",
        (Edit("store/shop_transaction.py", "    event.listen(db.session, ", "    0 and event.listen(db.session, "),),
        "checkouts/test_atomic.py",
        "test_an_atomic_receiver_must_leave_the_transaction_open and sqlite",
    ),
    Mutant(
        "what the deposit said is forgotten when it cannot be applied",
        (
            Edit(
                "checkouts/settlement.py",
                '                    self._note_failure(attempt, "not applied", error, seen)\n',
                "",
            ),
        ),
        "checkouts/test_atomic.py",
        "test_nothing_is_committed_when_an_atomic_receiver_raises and sqlite",
    ),
    Mutant(
        "the answer about another deposit is taken",
        (Edit("checkouts/settlement.py", "            self._require_own(attempt, deposit)\n", ""),),
        "checkouts/test_settlement.py",
        "test_a_deposit_of_another_checkout_is_no_answer and sqlite",
    ),
    Mutant(
        "what arrived is stored in a second statement, after the move",
        (
            Edit(
                "checkouts/settlement.py",
                "                seen |= payment_columns(deposit, attempt.payment_completed_at or now)\n",
                "                pass\n",
            ),
            Edit(
                "checkouts/settlement.py",
                "                if stored is not None:\n                    events += stored\n",
                """                if stored is not None:
                    if deposit is not None and deposit.status == _COMPLETED:
                        moved_one = self._require(attempt.checkout_id)
                        self._attempts.note(moved_one, None, None, **payment_columns(deposit, now))
                    events += stored
""",
            ),
        ),
        "store/test_stored_payments.py",
        "test_receivers_of_every_kind_get_what_arrived and sqlite",
    ),
    Mutant(
        "a rejection is not told",
        (
            Edit(
                "store/checkouts.py",
                "        if move.decision is not None:\n",
                "        if move.decision is not None and move.decision.accepted:\n",
            ),
        ),
        "checkouts/test_resolve.py",
        "test_each_decision_for_each_reason and sqlite and reject",
    ),
    Mutant(
        "an accepted second payment is in no list",
        (Edit("store/models.py", "status IN ('paid', 'rejected')", "status = 'rejected'"),),
        "store/test_paybacks.py",
        "test_what_became_of_it_is_recorded_with_who_and_why and sqlite",
    ),
    Mutant(
        "an order id can be read out of a link",
        (
            Edit(
                "security/signed_links.py",
                '        return sealed.decode().rstrip("=")\n',
                "        return str(URLSafeTimedSerializer(self._good_keys()[-1], salt=purpose).dumps(subject))\n",
            ),
        ),
        "security/test_signed_links.py",
        "test_nobody_reads_an_order_id_out_of_a_token",
    ),
    Mutant(
        "a link on our pages begins a new age",
        (Edit("views/order_urls.py", "sign(purpose, link.order_id, link.signed_at)", "sign(purpose, link.order_id)"),),
        "views/test_order_urls.py",
        "test_links_on_our_pages_keep_the_age_of_the_link_that_led_there",
    ),
    Mutant(
        "every payment method is waited for as long",
        (Edit("rules/schedule.py", "if key is not None and key in self.pending_for:", "if False:"),),
        "checkouts/test_settlement.py",
        "test_how_long_a_payment_may_be_on_its_way and sqlite",
    ),
    Mutant(
        "an abandoned checkout does not say how it ended",
        (Edit("checkouts/settlement.py", "REASON_OF.get(ruling.evidence) if", "None if"),),
        "checkouts/test_settlement.py",
        "test_each_end_without_a_payment_has_a_reason and sqlite",
    ),
    Mutant(
        "a circuit breaker that never closes",
        (
            Edit(
                "service/breaker.py",
                "circuit.failures, circuit.wait, circuit.probe = 0, ",
                "circuit.wait, circuit.probe = ",
            ),
        ),
        "service/test_breaker.py",
        "test_after_five_seconds_one_probe_may_go",
    ),
    Mutant(
        "a circuit breaker without a single probe",
        (Edit("service/breaker.py", " or (circuit.probe is not None and now < circuit.probe_until):", ":"),),
        "service/test_breaker.py",
        "test_of_many_threads_one_is_the_probe",
    ),
    Mutant(
        "a visit reads all attempts of an order",
        (
            Edit("checkouts/order_status.py", "in newest[:NEWEST] if", "in newest if"),
            Edit("store/checkout_statements.py", ".limit(literal_column(str(NEWEST + 1)))", ""),
        ),
        "test_bounds.py",
        "test_a_visit_reads_three_attempts_at_most and sqlite and 100-JSON",
    ),
    Mutant(
        "starts of one order go side by side",
        (
            Edit(
                "checkouts/start.py",
                "self._starting.join(order_id) as",
                'self._starting.join(f"{order_id} {time.monotonic_ns()}") as',
            ),
        ),
        "test_bounds.py",
        "test_sixteen_starts_of_one_order_make_one_checkout and sqlite",
    ),
    Mutant(
        "a read that reconcile makes for a webhook is not the webhook's",
        (
            Edit(
                "store/checkout_statements.py",
                '{"webhook_read_at": read_at, ',
                '{"webhook_read_at": c.webhook_read_at, ',
            ),
        ),
        "checkouts/test_webhooks.py",
        "test_webhooks_and_reconcile_together_read_once_per_cool_down and read",
    ),
    Mutant(
        "signals hold their receivers weakly",
        (
            Edit(
                "signals.py",
                "sender: Any = ANY, weak: bool = False) -> Function:",
                "sender: Any = ANY, weak: bool = True) -> Function:",
            ),
        ),
        "test_signals.py",
        "test_receivers_of_a_factory_run_once",
    ),
    Mutant(
        "a payment that nobody hears of counts as delivered",
        (Edit("store/events.py", "    told = told and not unheard\n", "    unheard = False\n"),),
        "test_signals.py",
        "test_a_payment_that_nobody_hears_of and sqlite",
    ),
    Mutant(
        "the order of events is ignored",
        (Edit("checkouts/outbox.py", "if waited_for & {receiver.name for receiver in missing}:", "if False:"),),
        "checkouts/test_event_order.py",
        "test_a_receiver_that_missed_an_event and sqlite",
    ),
    Mutant(
        "an event is not looked at again when its receiver is marked",
        (
            Edit(
                "checkouts/outbox.py",
                "if self._superseding.has_happened_to(event, connection, lock=True):",
                "if False:",
            ),
        ),
        "checkouts/test_event_order.py",
        "test_what_is_overtaken_while_its_receiver_works and sqlite",
    ),
    Mutant(
        "a lease is never renewed",
        (
            Edit(
                "checkouts/outbox.py",
                "return self._renewal.during(lambda: self._renew(events))",
                "return nullcontext()",
            ),
        ),
        "checkouts/test_leases.py",
        "test_nobody_takes_an_event and sqlite",
    ),
    Mutant(
        "a receiver may end the process that delivers",
        (
            Edit(
                "checkouts/outbox.py",
                "            except BaseException as error:\n                # Nothing",
                "            except Exception as error:\n                # Nothing",
            ),
        ),
        "checkouts/test_outbox.py",
        "test_a_receiver_that_wants_to_end_the_process and sqlite",
    ),
    Mutant(
        "two databases are taken for one",
        (Edit("checkouts/outbox.py", "                if self._separate:\n", "                if False:\n"),),
        "store/test_separate_database.py",
        "test_a_receivers_effect_is_never_lost",
    ),
    Mutant(
        "the report judges by the next read, which whoever tries in vain puts off",
        (Edit("reports/report.py", "c.problem_since <= now - _PATIENCE", "c.next_read_at <= now - _PATIENCE"),),
        "doctor/test_alarms.py",
        "test_each_trouble_is_named_within_five_minutes and secret",
    ),
    Mutant(
        "an event that nobody listens to counts as delivered",
        (
            Edit(
                "rules/receivers.py",
                "return next(BY_NAME[signal_name].receivers_for(sender), None) is None",
                "return False",
            ),
        ),
        "doctor/test_alarms.py",
        "test_each_trouble_is_named_within_five_minutes and missing",
    ),
    Mutant(
        "a read that succeeds leaves the problem of the one before",
        (Edit("checkouts/settlement.py", 'seen |= {"problem": None, "problem_since": None}', "seen |= {}"),),
        "reports/test_report.py",
        "test_reads_that_fail_for_minutes and sqlite",
    ),
    Mutant(
        "starts that another process makes do not take back that starts fail",
        (
            Edit(
                "reports/report.py", "if calls.operation == START and answered_at is not None", "if answered_at is None"
            ),
        ),
        "reports/test_report.py",
        "test_starts_that_another_process_makes and sqlite",
    ),
)
