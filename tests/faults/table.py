"""The planted faults, each of which breaks a promise: the test that must notice it, and the edits of the code."""

from __future__ import annotations

from tests.faults.planting import Before, Edit, First, Swap, Value

#: The test that notices a fault, as a path below `tests/`, with parameters if one case is enough; then the edits.
Planted = tuple[str, *tuple[Edit, ...]]

FAULTS: dict[str, Planted] = {
    "the amount is not compared": (
        "checkouts/test_matching.py::test_each_comparison_names_what_differs",
        Swap("checkouts.ruling:compare", "amount == due.amount", "True"),
    ),
    "the currency is not compared": (
        "checkouts/test_matching.py::test_each_comparison_names_what_differs",
        Swap(
            "checkouts.ruling:compare",
            '_same(f"{side}Currency", due.currency, currency)',
            '_same(f"{side}Currency", str(currency), currency)',
        ),
    ),
    "amounts are compared as floats": (
        "checkouts/test_matching.py::test_each_comparison_names_what_differs",
        Swap("checkouts.ruling:compare", "amount == due.amount", "float(amount) == float(due.amount)"),
    ),
    "the deposit's own id is not compared": (
        "checkouts/test_matching.py::test_each_comparison_names_what_differs",
        Swap(
            "checkouts.ruling:compare",
            '_same("depositId", checkout_id, sent["deposit_id"])',
            '_same("depositId", str(sent["deposit_id"]), sent["deposit_id"])',
        ),
    ),
    "the order is not asked for its total again when the money comes": (
        "checkouts/test_resolve.py::test_each_decision_for_each_reason[sqlite-order_changed-accept]",
        Swap("checkouts.shop_answers:OrderTotals.rule", "self.total(transaction, checkout)", "checkout.total"),
    ),
    "the event is stored in a second transaction": (
        "checkouts/test_checkouts.py::test_a_move_whose_event_cannot_be_stored_does_not_happen[sqlite]",
        Before("checkouts.moves:Moves.move_in", "_announce", "connection.commit()"),
    ),
    "an event may be stored twice": (
        "database/test_models.py::test_the_database_itself_refuses_to_tell_an_order_paid_twice",
        Value("events.event_model:EventMixin.once", "mapped_column(String(600))"),
    ),
    "reconcile does nothing": (
        "journeys/test_paying.py::test_paid_by_reconcile_alone",
        First("rounds.reconcile:Reconciler.run", "return ReconcileReport()"),
    ),
    "a customer is sent to a page before it is stored": (
        "checkouts/test_start.py::test_the_page_is_stored_and_told_before_its_url_is_known_to_anybody",
        Before(
            "checkouts.start:Starter._make",
            "store",
            "import threading, types\n"
            "stored = (order_id, link.id, link.url, new, now, replaces, client_id)\n"
            "threading.Thread(target=self.moves.store, args=stored).start()\n"
            "return types.SimpleNamespace(checkout_id=link.id, order_id=order_id, url=link.url, status='created')",
        ),
    ),
    "an event counts as delivered before its receivers were called": (
        "events/test_outbox.py::test_only_the_receiver_that_failed_runs_again",
        Before(
            "events.receiver_runs:ReceiverRuns._run_receivers",
            "runnable_receivers",
            "self.queue.finish(event, delivered_at=self.wiring.clock())",
        ),
    ),
    "the webhook's own words are believed": (
        "views/test_webhook.py::test_the_webhooks_own_content_is_not_evidence",
        Before(
            "views.webhook:webhook",
            "receive",
            "table = shop.models.checkouts\n"
            "if b'completed' in body:\n"
            "    with shop.engine().begin() as connection:\n"
            "        paid = table.update().where(table.c.checkout_id == checkout_id).values(status='paid')\n"
            "        connection.execute(paid)",
        ),
    ),
    "a webhook that could not be stored is answered with 200": (
        "views/test_webhook.py::test_a_webhook_that_could_not_be_stored_is_a_503_and_comes_again",
        Swap("views.webhook:webhook", "503", "200"),
    ),
    "webhooks of one process have no cool-down of their own": (
        "checkouts/test_webhooks.py::test_while_no_result_can_be_stored_webhooks_cost_one_read_per_cool_down",
        Swap("checkouts.webhooks:Webhooks._may_read", "lately.begin(checkout.checkout_id, now)", "True"),
    ),
    "who asked for a payout approves it": (
        "payouts/test_duties.py::test_the_requester_of_a_payout_cannot_approve_it_by_any_door",
        Swap("payouts.decisions:PayoutDecisions.barred", "(deeds, requests, returns)", "(deeds, returns)"),
    ),
    "who reports that a payout came back approves that it is sent again": (
        "payouts/test_duties.py::test_a_person_who_reports_a_returned_payout_cannot_approve_its_next_try[token]",
        Swap("payouts.decisions:PayoutDecisions.barred", "_BARRING", "()"),
    ),
    "what was sent is tried again without another approval": (
        "payouts/test_duties.py::test_a_person_who_reports_a_returned_payout_cannot_approve_its_next_try[token]",
        Swap("payouts.decisions:PayoutDecisions._decide", "_TO_APPROVE.get(meaning, meaning)", "meaning"),
    ),
    "a second try of a day does not count against its limit": (
        "payouts/test_duties.py::test_a_person_who_reports_a_returned_payout_cannot_approve_its_next_try[bank]",
        Swap("payouts.daily_limit:LimitedDay.admits", "payout.counted_on == self.mark", "payout.earlier"),
    ),
    "an item of a refused batch has failed by its own refusal": (
        "payouts/test_tries.py::test_a_payout_that_a_refused_batch_sent_is_found_however_late_the_list_shows_it[30]",
        Swap("payouts.results:PayoutResults.missed", "payout.doubt is None", "True"),
    ),
    "a refusal after a person's word fails a payout": (
        "payouts/test_tries.py::test_a_refusal_after_a_persons_not_sent_is_unknown_again_and_may_be_cancelled[token]",
        Swap("payouts.decisions:PayoutDecisions._values", "Doubt.DENIED", "None"),
    ),
    "a payout exceeds the daily limit": (
        "payouts/test_daily_limit.py::test_a_payout_that_would_exceed_the_limit_waits_for_the_next_day",
        Swap("payouts.daily_limit:LimitedDay.admits", "sent > self.limit", "False"),
    ),
    "one look-up that misses a payout is enough to send it again": (
        "payouts/test_paid_once.py::test_a_payout_that_two_lookups_a_minute_apart_missed_is_sent_under_its_own_reference",
        Swap(
            "payouts.results:PayoutResults.missed", "payout.doubt is None and payout.state != PayoutState.LOST", "True"
        ),
    ),
    "an approval binds nothing": (
        "payouts/test_claims.py::test_the_customer_may_correct_it_until_a_person_approves_what_they_saw",
        Swap("payouts.decisions:PayoutDecisions._decide", "seen not in (None, payout.revision)", "False"),
    ),
    "the sum of refunds is compared outside the lock": (
        "payouts/test_refunds.py::test_refunds_at_once_are_together_never_more_than_what_arrived[sqlite]",
        Swap(
            "payouts.refund_limits:RefundLimits.lock",
            "locked(connection, self.models.checkouts, checkout_id)",
            "connection.execute(select(self.models.checkouts).filter_by(checkout_id=checkout_id)).mappings().one()",
        ),
    ),
}
