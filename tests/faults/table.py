"""Every planted fault: what it does, a test that notices, and the syntax that it changes."""

from __future__ import annotations

from tests.faults.planting import After, Before, Drop, Edit, First, InTemplate, Never, Said, Swap, Value

#: The test that notices a fault, below `tests/` and with its parameters where one case is enough; then the edits.
Planted = tuple[str, *tuple[Edit, ...]]

_ACCOUNTS = "accounts/test_orders.py"
_PEOPLE = "accounts/test_people.py"
_ROUNDS = "checkouts/test_due_reading.py::test_an_account_that_fails_costs_the_others_less_than_a_tenth"
_SANDBOX_ACCOUNTS = "sandbox/control/test_accounts.py"
_LEVERS, _WORLDS = "sandbox/control", "sandbox/control/test_worlds.py"
_ANSWERS, _IDS = "hostile/test_answers.py", "hostile/test_ids.py"
_CARTS = "races/test_changed_carts.py::test_a_cart_that_changes_while_it_is_settled"
_COMPARED = "checkouts/test_matching.py::test_each_comparison_names_what_differs"
_EVERY = "security/test_every_answer.py::test_every_kind_of_answer_is_hardened"
_OUTBOX, _ORDER = "events/test_outbox.py", "events/test_event_order.py"
_REFUSING = "events/test_atomic.py::test_nothing_is_committed_when_an_atomic_receiver_raises"
_SANDBOX, _FOREIGN = "hostile/test_sandbox.py", "hostile/test_foreign_pages.py"
_HEADLESS, _TENANTS = "views/test_headless.py", "accounts/test_tenants.py"
_ONE_ANSWER, _SETTLEMENT = "security/test_one_answer.py", "checkouts/test_settlement.py"
_SITE = "security/test_same_site.py"
_TOKENS, _URLS, _HOSTS = "security/test_tokens.py", "security/test_payment_urls.py", "security/test_hosts.py"
_BROKEN = "events/test_broken_transactions.py::test_it_has_failed_and_runs_again_under_the_same_event_id"
_KINDS = "events/test_kinds_of_functions.py"
_CONNECTIONS = "views/test_connections.py"
_TROUBLE = "books/test_alarms.py::test_each_trouble_is_named_within_five_minutes"
_START = "checkouts/test_start.py"
_WEBHOOK, _OWNER = "views/test_webhook.py", "views/test_owner.py"
_HINTS = "checkouts/test_webhooks.py"
_AWAY = "views/test_database_away.py"
_FORMS = "sandbox/world/test_switches.py"
_TRIES, _SELLERS = "payouts/test_tries.py", "accounts/test_payouts.py"
_ONCE, _LATE = "payouts/test_paid_once.py", "payouts/test_late_senders.py"
_REFUNDS, _PARTS = "payouts/test_refunds.py", "checkouts/test_parts.py"
_PRUNING = "books/test_pruning.py"
_CLAIMS, _REFUND = "payouts/test_claims.py", "views/test_refund.py"
_CALLS = "service/test_calls.py"
_BOOKS, _EXPORT = "books/test_books.py", "books/test_export.py"
_BOOKED = "books/test_bookings.py"
_DESK, _OUT = "views/test_owner_payouts.py", "books/test_payout_alarms.py"
_AUDIT = "books/test_audit.py"
_ALONE = f"{_AUDIT}::test_each_kind_of_difference_is_found_when_it_is_planted_alone"
_DUTIES, _ERASING, _DAILY = "payouts/test_duties.py", "books/test_erasing.py", "payouts/test_daily_limit.py"
_TWO_PERSONS = f"{_DUTIES}::test_who_asked_for_a_payout_cannot_approve_it_by_any_door"
_PERSONS_GO = f"{_ERASING}::test_persons_go_and_money_stays[sqlite]"
_ASKED, _REMINDED = "checkouts/test_requests.py", "checkouts/test_reminders.py"
_ENDED = f"{_ASKED}::test_what_has_ended_is_not_payable_and_money_that_still_comes_is_held"
_FINDING, _COMMANDS = "sandbox/inspector", "sandbox/terminal/test_commands.py"

#: By promise, or by threat with the defence against it.
FAULTS: dict[str, dict[str, Planted]] = {
    "Only the right money pays an order.": {
        "the amount is not compared": (_COMPARED, Swap("checkouts.ruling:compare", "amount == due.amount", "True")),
        "the currency is not compared": (
            _COMPARED,
            Swap(
                "checkouts.ruling:compare",
                '_same(f"{side}Currency", due.currency, currency)',
                '_same(f"{side}Currency", str(currency), currency)',
            ),
        ),
        "a page on which a method was picked is not used again": (
            "test_bounds.py::test_a_picked_page_is_used_again_while_it_is_valid_and_keeps_nobody_out_after_that",
            Value("checkouts.start:_UNFINISHED", "(Status.CREATED,)"),
        ),
        "a page of another client id is used again": (
            "checkouts/test_client_ids.py::test_a_page_of_another_client_id_is_not_used_again",
            Swap(
                "checkouts.start:Starter._usable",
                "current.client_id != self.service.client_id_of(asked.account)",
                "False",
            ),
        ),
        "webhooks about no checkout make payouts due as often as they come": (
            "payouts/test_hints.py::test_webhooks_hurry_a_bounded_number_of_reads_a_minute_and_call_nobody[sqlite]",
            Swap("payouts.payout_queue:PayoutQueue.receive_hint", 'self._hinted_lately.begin("", now)', "True"),
        ),
        "the page of an order whose payment was not accepted asks for a payment as if nothing had come": (
            "views/test_order.py::test_money_that_was_not_accepted_is_told_with_what_becomes_of_it",
            Never("views.page_text:order_text", "of_rejected"),
        ),
        "zeros at the end of an amount are decimals": (
            "test_totals.py::test_an_amount_is_kept_exactly",
            Swap("totals:exact_decimal", "_without_zeros(exact, places)", "exact"),
        ),
        "amounts are compared as floats": (
            _COMPARED,
            Swap("checkouts.ruling:compare", "amount == due.amount", "float(amount) == float(due.amount)"),
        ),
        "the deposit's own id is not compared": (
            _COMPARED,
            Swap(
                "checkouts.ruling:compare",
                '_same("depositId", checkout_id, deposit.deposit_id)',
                '_same("depositId", str(deposit.deposit_id), deposit.deposit_id)',
            ),
        ),
        "the answer about another deposit is taken": (
            f"{_SETTLEMENT}::test_what_is_no_evidence_never_changes_a_state",
            Swap("checkouts.settlement:Settlement._read", "deposit.deposit_id != checkout.checkout_id", "False"),
        ),
        "a deposit status in capitals is no completed one": (
            f"{_SETTLEMENT}::test_the_closed_statuses_are_the_shops_choice[sqlite]",
            Swap("checkouts.ruling:status_of", "deposit.status.lower()", "deposit.status"),
        ),
        "what another client id does not find counts as evidence": (
            "checkouts/test_client_ids.py",
            Swap("checkouts.deposits:read_deposit", "client.client_id != checkout.client_id", "False"),
        ),
        "two misses of one moment abandon a checkout": (
            f"{_SETTLEMENT}::test_never_picked_takes_two_reads_the_later_one_after_the_page_is_gone",
            Swap("checkouts.ruling:_evidence_of_absence", "reading.cause.at >= since + BETWEEN_MISSES", "True"),
        ),
        "the order is not asked for its total again when the money comes": (
            "checkouts/test_resolve.py::test_each_decision_for_each_reason[sqlite-order_changed-accept]",
            Swap("checkouts.shop_answers:OrderTotals.rule", "self.total(transaction, checkout)", "checkout.total"),
        ),
        "the order is asked for its total outside the transaction that moves": (
            f"{_CARTS}[postgresql-delivered-changed]",
            First("checkouts.shop_answers:OrderTotals.rule", "from flask_paycheckout.runtime import runtime"),
            Swap(
                "checkouts.shop_answers:OrderTotals.rule",
                "self.total(transaction, checkout)",
                "runtime().ask_total(checkout.order_id)",
            ),
        ),
        "SQLite is not locked before the order is asked for its total": (
            f"{_CARTS}[sqlite-delivered-changed]",
            Never("checkouts.moves:Moves.move", "asks_shop"),
        ),
    },
    "No paid order is lost, and every state is told.": {
        "a checkout whose deposit was seen is pruned": (
            f"{_PRUNING}::test_of_abandoned_checkouts_only_those_that_nobody_can_pay_any_more_go[sqlite]",
            Swap(
                "books.pruning:Prunable.checkout",
                '("paid_order_id", "payback", "refunded_amount", "found_by", "deposit_status", *PAYMENT_COLUMNS)',
                '("paid_order_id", "payback", "refunded_amount", "found_by", *PAYMENT_COLUMNS)',
            ),
        ),
        "the history of an abandoned checkout with money is pruned": (
            f"{_PRUNING}::test_histories_stay_of_what_is_not_decided[sqlite]",
            Swap(
                "books.pruning:Prunable.decided_checkout",
                '"payment_completed_at", "payment_paid_amount"',
                "()",
            ),
        ),
        "a checkout whose money comes while it is pruned is removed": (
            f"{_PRUNING}::test_money_that_comes_between_count_and_removal_is_kept[sqlite]",
            Swap(
                "books.pruning:Pruning._removed",
                "kind.removal.where(kind.table.c.id.in_(free), kind.condition)",
                "kind.removal.where(kind.table.c.id.in_(free))",
            ),
        ),
        "the event is stored in a second transaction": (
            "checkouts/test_checkouts.py::test_a_move_whose_event_cannot_be_stored_does_not_happen[sqlite]",
            Before("checkouts.moves:Moves.move_in", "_store_event", "connection.commit()"),
        ),
        "a start returns a checkout without what the database has set": (
            "database/test_models.py::test_a_start_returns_the_checkout_as_it_is_stored[sqlite]",
            Swap(
                "checkouts.moves:Moves.store",
                "connection.execute(self._insert, row).mappings().one()",
                "dict.fromkeys(self.checkouts.table.c.keys()) | row"
                " | {'id': connection.execute(self._insert, row).one().id}",
            ),
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
            f"{_START}::test_the_page_is_stored_and_told_before_its_url_is_known_to_anybody",
            Before(
                "checkouts.start:Starter._make",
                "store",
                "import threading, types\n"
                "stored = (order_id, link.id, link.url, asked, now, replaces, client_id)\n"
                "threading.Thread(target=self.moves.store, args=stored).start()\n"
                "return types.SimpleNamespace(checkout_id=link.id, order_id=order_id, url=link.url, status='created')",
            ),
        ),
        "what the deposit said is forgotten when it cannot be applied": (
            f"{_REFUSING}[sqlite]",
            Drop("checkouts.settlement:Settlement._decide", "_note_failure"),
        ),
        "what arrived is stored in a second statement, after the move": (
            "checkouts/test_stored_payments.py::test_receivers_of_every_kind_get_what_arrived[sqlite]",
            Drop("checkouts.settlement:Settlement._columns_of_read", "payment_columns"),
            After(
                "checkouts.settlement:Settlement._decide",
                "_move",
                "if stored is not None and deposit is not None and deposit.status == COMPLETED:\n"
                "    arrived = payment_columns(deposit, reading.now)\n"
                "    self.due_reads.note(self.checkouts.require(checkout.checkout_id), None, None, **arrived)",
            ),
        ),
        "a rejection is not told": (
            "checkouts/test_resolve.py::test_each_decision_for_each_reason",
            Swap(
                "checkouts.moves:Moves.move_in",
                "move.decision is not None",
                "move.decision is not None and move.decision.accepted",
            ),
        ),
        "an accepted second payment is in no list": (
            "payouts/test_paybacks.py::test_what_became_of_it_is_recorded_with_who_and_why",
            Said("checkouts.checkout_model:MONEY_TO_PAY_BACK", "status IN ('paid', 'rejected')", "status = 'rejected'"),
        ),
        "every payment method is waited for as long": (
            f"{_SETTLEMENT}::test_how_long_a_payment_may_be_on_its_way_depends_on_how_the_customer_pays",
            Swap("checkouts.schedule:Schedule.patience", '(method or "default", kind, "default")', '("default",)'),
        ),
        "an abandoned checkout does not say how it ended": (
            f"{_SETTLEMENT}::test_each_end_without_a_payment_has_a_reason_which_goes_when_the_deposit_comes_back",
            Swap("checkouts.settlement:Settlement._plan", "REASON_OF.get(ruling.evidence)", "None"),
        ),
    },
    "Receivers run once, in order, and their effects are committed with the mark.": {
        "a session that is the same in all contexts is taken for that of each": (
            "journeys/test_hosts.py::test_a_host_that_gives_contexts_no_own_session_is_refused[of the thread]",
            Swap("database.hosts:_PlainSQLAlchemy._require_session_of_context", "other is one", "False"),
        ),
        "a session on another database than the engine is taken": (
            "journeys/test_hosts.py::test_a_session_on_another_database_than_the_engine_is_refused",
            Swap("database.hosts:_PlainSQLAlchemy.engine", "found.url != bound.url", "False"),
        ),
        "of plain sessions nobody sees what is not committed": (
            "journeys/test_hosts.py::test_half_done_work_of_the_shop_is_seen_and_left_alone[SQLAlchemy-sqlite]",
            First("database.hosts:ShopDatabase.current", "return None"),
        ),
        "an event counts as delivered before its receivers were called": (
            f"{_OUTBOX}::test_only_the_receiver_that_failed_runs_again",
            Before("events.receiver_runs:ReceiverRuns._run_receivers", "runnable_receivers", "self._mark(event)"),
        ),
        "a move is committed although its atomic receiver raised": (
            f"{_REFUSING}[sqlite]",
            Drop("events.shop_transaction:ShopTransactions.run", "ReceiverFailed"),
        ),
        "an atomic receiver may commit": (
            f"{_BROKEN}[sqlite-atomic]",
            Swap("database.open_transactions:refuse_commit", "session.info.get(_IN_CALLBACK)", "False"),
            Swap("database.open_transactions:_on_commit", "session.info.get(_IN_CALLBACK)", "False"),
            Swap("database.open_transactions:_on_statement", "session.info.get(_IN_CALLBACK)", "False"),
        ),
        "who kept a checkout cannot read it any more": (
            "events/test_atomic.py::test_a_receiver_may_keep_the_checkout",
            Drop("events.shop_transaction:ShopTransaction.commit", "expunge"),
        ),
        "a coroutine works in the session of another context": (
            f"{_KINDS}::test_a_coroutine_receiver_runs_to_its_end_in_its_transaction",
            Swap("shop_functions:_in_own_thread", "contextvars.copy_context().run", "contextvars.Context().run"),
        ),
        "a context that ends inside an event loop calls coroutine functions as Flask does": (
            "journeys/test_hosts.py::test_a_payment_is_settled_inside_an_event_loop[Flask-SQLAlchemy-Lite]",
            Swap("parts:context_opener", "inspect.iscoroutinefunction(each)", "False"),
        ),
        "signals hold their receivers weakly": (
            "events/test_signals.py::test_receivers_of_a_factory_run_once_for_each_payment_however_often_it_ran",
            Swap("signals:Signal.connect", "False", "True"),
        ),
        "a payment that nobody hears of counts as delivered": (
            "events/test_signals.py::test_a_payment_that_nobody_hears_of_waits_for_a_process_that_listens",
            Swap("events.events:new_event", "told and not unheard and not runs", "told and not runs"),
            Swap("events.events:new_event", "told or unheard", "told"),
        ),
        "an event that nobody listens to counts as delivered": (
            f"{_TROUBLE}[receiver is missing]",
            First("events.receivers:Receivers.is_unheard", "return False"),
        ),
        "the order of events is ignored": (
            f"{_ORDER}::test_a_receiver_that_missed_an_event_hears_it_before_the_next_one",
            Never("events.receiver_runs:ReceiverRuns.runnable_receivers", "waited_for"),
        ),
        "an event is not looked at again when its receiver is marked": (
            f"{_ORDER}::test_what_is_overtaken_while_its_receiver_works_is_not_committed",
            Never("events.receiver_runs:ReceiverRuns._mark_and_commit", "has_happened_to"),
        ),
        "a lease is never renewed": (
            "events/test_leases.py::test_nobody_takes_an_event_from_a_receiver_that_works_longer_than_the_lease",
            First("events.receiver_runs:ReceiverRuns.kept", "return nullcontext()"),
        ),
        "a receiver may end the process that delivers": (
            f"{_OUTBOX}::test_a_receiver_that_wants_to_end_the_process_fails_like_any_other",
            Swap("events.receiver_runs:ReceiverRuns._run_receivers", "BaseException", "Exception"),
        ),
        "nobody looks again at the queue of an order after a delivery": (
            f"{_ORDER}::test_what_is_overtaken_while_its_receiver_works_is_not_committed",
            After("events.outbox:Outbox._deliver", "run", "if delivery: return total + delivery"),
        ),
        "the transaction of a move is not proved before its commit": (
            f"{_BROKEN}[postgresql-atomic]",
            First("events.shop_transaction:ShopTransaction._require_whole", "return"),
            Swap("events.shop_transaction:ShopTransactions.run", "mark(receiver.name)", "True"),
            Swap("database.open_transactions:_on_commit", "begun_in(session)", "[]"),
        ),
        "a receiver may roll its own transaction back": (
            f"{_BROKEN}[sqlite-plain]",
            First("events.shop_transaction:ShopTransaction._require_whole", "return"),
        ),
        "a receiver may write through two engines": (
            f"{_BROKEN}[sqlite-plain]",
            Never("events.shop_transaction:ShopTransaction.receive", "separate_database"),
        ),
        "an event has another id in each try": (
            f"{_BROKEN}[sqlite-atomic]",
            Swap("events.events:new_event", 'uuid.uuid5(_EVENT_IDS, f"{once}:{event.checkout_id}")', "uuid.uuid4()"),
        ),
        "an awaitable that a receiver returns counts as delivered": (
            f"{_KINDS}::test_what_a_function_returns_to_be_awaited_or_walked_is_a_failure",
            First("shop_functions:_finished", "return result"),
        ),
        "a generator function is connected": (
            f"{_KINDS}::test_generator_functions_are_refused_by_name_where_they_are_given",
            First("shop_functions:refuse_generator", "return function"),
        ),
        "an engine may commit every statement": (
            "doctor/test_shop.py::test_outside_testing_it_is_refused_at_the_first_use",
            Never("runtime:_require_transactions", "commits_each_statement"),
        ),
        "two databases are taken for one": (
            "database/test_separate_database.py::test_a_receivers_effect_is_never_lost_whenever_its_process_dies",
            Never("events.receiver_runs:ReceiverRuns._run_one", "separate_database"),
        ),
    },
    "Alarms tell the truth, and a failing service is left alone.": {
        "a circuit breaker that never closes": (
            "service/test_breaker.py::test_after_five_seconds_one_probe_may_go_and_its_answer_closes_it",
            Swap(
                "service.limits:Breaker.answered",
                "circuits.pop(key, _Circuit())",
                "circuits.get(key, _Circuit())",
            ),
        ),
        "a circuit breaker without a single probe": (
            "service/test_breaker.py::test_of_many_threads_one_is_the_probe",
            Swap("service.limits:Breaker.admit", "self.now() + self.probe_lasts", "self.now()"),
        ),
        "all operations of an account share one circuit": (
            f"{_CALLS}::test_reads_that_fail_stop_no_starts_and_starts_that_fail_no_reads",
            Swap("service.calls:Permit.circuit", "self.operation", "''"),
        ),
        "a call that keys may not make counts as an outage": (
            f"{_CALLS}::test_refused_requests_are_answers_and_close_nothing[403]",
            Swap("service.calls:is_answer", "ServiceFault", "(ServiceFault, Unauthorized)"),
        ),
        "an answer that comes late is as good as any": (
            f"{_CALLS}::test_answers_that_come_late_are_failures",
            Swap("service.calls:Service.note_outcome", "seconds <= self.slow_after", "True"),
        ),
        "an account may take every slot": (
            f"{_CALLS}::test_an_account_has_less_than_half_of_the_slots_and_seldom_calls_a_third",
            Never("service.limits:ConcurrencyLimit._has_room", "several_accounts"),
        ),
        "claims and proofs may take every slot": (
            f"{_CALLS}::test_an_account_has_less_than_half_of_the_slots_and_seldom_calls_a_third",
            Never("service.limits:ConcurrencyLimit._has_room", "seldom"),
        ),
        "any number of requests waits for slow calls": (
            f"{_CALLS}::test_while_calls_are_slow_few_requests_wait_for_that_operation_and_status_pages_sooner",
            Swap("service.limits:ConcurrencyLimit._has_room", "self._slow_with(taken, slot, slow_after)", "[]"),
        ),
        "each slow account has two slots of its own": (
            f"{_CALLS}::test_slow_accounts_have_two_slots_of_an_operation_together",
            Swap("service.limits:ConcurrencyLimit._slow_with", "one.of in slow", "one.of == slot.of"),
        ),
        "each account whose service hung may be tried at the same time": (
            f"{_CALLS}::test_probes_of_accounts_whose_service_hung_are_slow_from_their_beginning",
            Swap("service.calls:Service._admit", "admission.probe", "False"),
        ),
        "a claim that was not carried out costs a use of its link": (
            f"{_CLAIMS}::test_claims_that_the_service_refuses_have_a_cool_down_and_stop_no_customer_who_pays[400-422]",
            Never("payouts.claims:RefundClaims._make_recipient", "carried_out"),
        ),
        "claims that the service refuses have no cool-down": (
            f"{_CLAIMS}::test_claims_that_the_service_refuses_have_a_cool_down_and_stop_no_customer_who_pays[403-503]",
            Never("payouts.claims:RefundClaims._make_recipient", "wait"),
        ),
        "the report judges by the next read, which whoever tries in vain puts off": (
            f"{_TROUBLE}[one deposit fails]",
            Swap(
                "books.payment_alarms:unread_payments",
                "c.problem_since <= look.now - PATIENCE",
                "c.next_read_at <= look.now - PATIENCE",
            ),
        ),
        "a read that succeeds leaves the problem of the one before": (
            "books/test_report.py::test_reads_that_fail_for_minutes_are_told_though_none_is_overdue",
            Swap(
                "checkouts.settlement:Settlement._columns_of_read",
                "problem_columns(checkout, reading.problem, now)",
                '{"failed_reads": 0}',
            ),
        ),
        "a deposit status that no rule knows is not reported": (
            f"{_SETTLEMENT}::test_a_status_that_no_rule_knows_counts_as_not_completed_and_is_reported[sqlite]",
            Swap(
                "checkouts.ruling:Reading.problem",
                "status not in (COMPLETED, _PENDING, *self.closed_statuses)",
                "False",
            ),
        ),
        "the books keep a completed payment that was taken back before it was applied": (
            f"{_SETTLEMENT}::test_a_completed_payment_that_was_not_applied_and_is_taken_back_is_reported[sqlite-failed]",
            Swap(
                "checkouts.settlement:Settlement._columns_of_read", "checkout.payment_completed_at is not None", "False"
            ),
        ),
        "a completed payment that is taken back before it was applied is not reported": (
            f"{_SETTLEMENT}::test_a_completed_payment_that_was_not_applied_and_is_taken_back_is_reported[sqlite-failed]",
            Swap(
                "checkouts.ruling:Reading.problem",
                "checkout.payment_paid_amount is not None and status != COMPLETED",
                "False",
            ),
        ),
        "starts that another process makes do not take back that starts fail": (
            "books/test_report.py::test_starts_that_another_process_makes_are_starts_that_succeed",
            Swap("books.payment_alarms:_since_answer", "calls.operation.startswith(START)", "False"),
        ),
        "only a start that succeeds ends the alarm that nobody can start a payment": (
            f"{_PEOPLE}::test_a_read_that_is_answered_ends_the_alarm_that_nobody_can_start_a_payment",
            Swap("books.payment_alarms:_since_answer", "max(read, started) > calls.last_failure_at", "False"),
        ),
        "a read that is answered makes starts possible that the service refuses": (
            f"{_PEOPLE}::test_starts_that_the_service_refuses_are_not_made_possible_by_its_answers_to_reads",
            Swap("service.record:_cause", "isinstance(error, RequestRefused)", "False"),
        ),
        "starts that nobody tries again stay an alarm for ever": (
            f"{_PEOPLE}::test_starts_that_nobody_tries_again_are_a_note_after_an_hour",
            Swap("books.payment_alarms:_alarm_of", "last <= look.now - UNTRIED", "False"),
        ),
        "one outage is an alarm for each thing that waits in it": (
            "books/test_report.py::test_reads_that_fail_for_minutes_are_told_though_none_is_overdue",
            Swap("books.alarms:waiting", "~note", "True"),
        ),
        "a log that writes a line for each checkout of an outage": (
            "accounts/test_outage.py::test_an_outage_of_an_hour_is_a_line_a_minute_for_each_account",
            Swap("parts.logs:_Written.limits", "self.at <= now < self.at + _MINUTE", "False"),
        ),
        "an observer that fails a payment": (
            "test_metrics.py::test_an_observer_of_the_shops_own_sees_all_and_one_that_raises_costs_no_payment",
            First("parts.observations:Observers.record", "[one(None) for one in self._observers]"),
        ),
    },
    "A forged or replayed webhook: a hint, about ids that are stored; only a fresh read of the deposit decides.": {
        "the webhook's own words are believed": (
            f"{_WEBHOOK}::test_what_the_webhook_itself_says_is_not_evidence",
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
            f"{_WEBHOOK}::test_what_could_not_be_stored_is_a_503_and_comes_again",
            Swap("views.webhook:webhook", "503", "200"),
        ),
        "a webhook about an abandoned checkout is useless": (
            f"{_HINTS}::test_a_hint_about_an_abandoned_checkout_is_read",
            Swap("checkouts.stored:Checkouts._select_hinted", "OPEN", "sorted(OPEN)[1:]"),
        ),
        "the first webhook about a decided checkout is useless": (
            f"{_HINTS}::test_the_first_webhook_of_a_decided_checkout_is_counted_and_told",
            Swap("checkouts.stored:Checkouts._select_hinted", "c.webhooks == 0", "c.id.is_(None)"),
        ),
        "a webhook whose read moved nothing is not stored": (
            f"{_HINTS}::test_a_webhook_whose_read_somebody_else_forestalls_is_counted",
            Swap("checkouts.webhooks:Webhooks._read", "cause.webhook_at", "None"),
        ),
        "a webhook whose read got no answer is not stored": (
            f"{_HINTS}::test_a_read_stores_its_webhook_whatever_its_result[away-no answer]",
            Swap("checkouts.settlement:Settlement._read", "cause.columns", "{}"),
        ),
        "the read that a webhook wants takes back what a newer one wants": (
            f"{_HINTS}::test_a_webhook_that_comes_during_a_read_is_read_after_the_cool_down",
            Swap("checkouts.stored:Checkouts.planned", "hinted & sooner", "hinted & ~hinted"),
        ),
        "the webhook's secret is not compared": (
            f"{_ONE_ANSWER}::test_every_wrong_webhook_secret_gets_one_answer_and_none_tells_that_there_is_a_secret",
            Never("views.webhook:webhook", "_is_expected"),
        ),
    },
    "One cheap request that causes many expensive ones: unknown ids end in our own table, reads have cool-downs.": {
        "webhooks of one process have no cool-down of their own": (
            f"{_HINTS}::test_while_no_result_can_be_stored_webhooks_cost_one_read_per_cool_down",
            Swap("checkouts.webhooks:Webhooks._may_read", "self._read_lately.begin(checkout.checkout_id, now)", "True"),
        ),
        "the cool-down that another process has stored is not kept": (
            f"{_HINTS}::test_webhooks_of_two_processes_that_read_at_once_both_count",
            Swap("checkouts.webhooks:Webhooks._may_read", "stored <= now - self._cooldown", "True"),
        ),
        "deferred webhooks have no cool-down": (
            f"{_HINTS}::test_webhooks_and_reconcile_together_read_once_per_cool_down[deferred]",
            Swap("checkouts.due_reads:DueReads.note_webhook", "now - cooldown", "now"),
        ),
        "a read that reconcile makes for a webhook is not the webhook's": (
            f"{_HINTS}::test_webhooks_and_reconcile_together_read_once_per_cool_down",
            Swap("checkouts.due_reads:DueReads._claimed", "case(hinted, else_=c.webhook_read_at)", "c.webhook_read_at"),
        ),
        "webhooks of one checkout read side by side": (
            "service/test_single_flight.py::test_webhooks_pile_up_no_reads_while_the_service_is_slow",
            Swap("checkouts.webhooks:Webhooks.receive", "free", "True"),
        ),
        "visits of one order read side by side": (
            "service/test_single_flight.py::test_visits_pile_up_no_reads_while_the_service_is_slow",
            Never("checkouts.order_status:OrderStatuses._read", "free"),
        ),
        "status pages have no cool-down": (
            "views/test_order.py::test_visits_share_one_read_in_five_seconds",
            Value("checkouts.order_status:_PAGE_COOLDOWN", "timedelta(0)"),
        ),
        "a visit reads all attempts of an order": (
            "test_bounds.py::test_a_visit_reads_three_attempts_at_most_and_asks_the_database_little[sqlite-100-JSON]",
            Swap("checkouts.order_status:OrderStatuses.of", "newest[:NEWEST]", "newest"),
            Swap("checkouts.stored:Checkouts._select_newest", "NEWEST + 1", "10**9"),
        ),
        "a page that another thread has made meanwhile is not seen": (
            f"{_START}::test_a_page_that_another_thread_makes_while_the_shop_is_asked_is_used[sqlite-a first page]",
            Swap("checkouts.start:Starter._start", "self._starting.last_ended is not ended_before", "False"),
        ),
        "a session in which the shop is asked waits for locks for ever": (
            "database/test_own_session.py::test_order_total_waits_for_locks_no_longer_than_ten_seconds[of_app_context]",
            Drop("database.open_transactions:guard", "limit_lock_waits"),
        ),
        "a web request waits for a lock as long as reconcile does": (
            f"{_CONNECTIONS}::test_a_web_request_waits_a_second_for_the_shops_order_and_shows_what_is_stored",
            First("database.connections:LockWaits.limited", "yield 10.0\nreturn"),
        ),
        "any number of web requests waits for a lock": (
            f"{_CONNECTIONS}::test_few_requests_of_a_process_wait_for_locks_at_once",
            Swap("database.connections:LockWaits.limited", "len(open_now) < _MOST_WAITING", "True"),
        ),
        "a page takes a second connection beside one that has only read": (
            f"{_CONNECTIONS}::test_each_page_needs_one_connection_beside_a_visitor_that_was_looked_up[postgresql]",
            First("database.shop_session:ShopSessions.let_clean_go", "return"),
        ),
        "starts of one order go side by side": (
            "test_bounds.py::test_sixteen_starts_of_one_order_make_one_checkout",
            Swap("checkouts.start:Starter._start", "self._starting.join(order_id)", "self._starting.join(object())"),
        ),
    },
    "A token that is forged, altered, too old or made for something else: sealed, with a key for each purpose.": {
        "an order id can be read out of a link": (
            "security/test_signed_links.py::test_nobody_reads_an_order_id_out_of_a_token",
            First(
                "security.signed_links:SignedLinks.sign",
                "return str(URLSafeTimedSerializer(self._good_keys()[-1], salt=purpose).dumps(subject))",
            ),
        ),
        "a link on our pages begins a new age": (
            "views/test_order_urls.py::test_links_on_our_pages_keep_the_age_of_the_link_that_led_there",
            Swap("views.order_urls:_token", "link.signed_at", "None"),
        ),
        "all purposes share a key": (
            f"{_TOKENS}::test_no_token_is_good_for_another_purpose",
            Swap("security.signed_links:_fernet", "purpose.encode()", 'b"paycheckout"'),
        ),
        "all purposes of forms share a salt": (
            f"{_TOKENS}::test_no_token_is_good_for_another_purpose",
            Swap("security.signed_links:SignedLinks._signer", "purpose", '"paycheckout"'),
        ),
        "SHA-1 signs forms": (
            f"{_TOKENS}::test_only_one_algorithm_signs",
            Swap("security.signed_links:_SIGNER", "hashlib.sha256", "hashlib.sha1"),
        ),
        "a token never ends": (
            f"{_TOKENS}::test_a_token_is_good_for_its_time_and_for_clocks_that_differ_by_seconds",
            Swap("security.signed_links:SignedLinks.open", "self.max_age", "timedelta.max"),
        ),
        "clocks may not differ": (
            f"{_TOKENS}::test_a_token_is_good_for_its_time_and_for_clocks_that_differ_by_seconds",
            Value("security.signed_links:_CLOCK_SKEW", "timedelta(0)"),
        ),
        "an empty key seals": (
            f"{_TOKENS}::test_no_key_that_can_be_guessed_is_taken",
            Swap(
                "security.signed_links:SignedLinks._good_keys",
                "[key for key in self.keys() if key]",
                "[key for key in self.keys() if key is not None]",
            ),
        ),
        "fallbacks may be one string": (
            f"{_TOKENS}::test_fallbacks_that_are_one_string_are_refused_at_once",
            Never("extension:_require_keys", "isinstance"),
        ),
        "forms need no signature": (
            f"{_TOKENS}::test_a_spoiled_token_opens_nothing[signed]",
            Swap(
                "security.signed_links:SignedLinks._open_form",
                "self._signer(purpose).loads(token, return_timestamp=True)",
                "(self._signer(purpose).loads_unsafe(token)[1], self._clock())",
            ),
        ),
    },
    "Reading other people's orders: one answer to each bad link, nothing cached or told on, no amount or id shown.": {
        "answers may be cached": (f"{_EVERY}[200 page]", Swap("views.headers:harden", '"no-store"', '"private"')),
        "the next site is told of the link": (
            f"{_EVERY}[200 page]",
            Swap("views.headers:harden", '"Referrer-Policy"', '"X-Referrer-Policy"'),
        ),
        "the page shows the amount although the shop did not ask for it": (
            "views/test_money.py::test_without_the_setting_neither_order_nor_amount_is_shown_in_any_language",
            Swap("views.order:_status_page", "runtime().settings.show_total", "True"),
        ),
        "the JSON has an id": (
            "views/test_order.py::test_the_json_has_three_fields_and_the_page_a_way_to_pay_while_one_is_wanted",
            Swap(
                "views.order:_standing",
                '{"status": current.status, "final": current.final, "pollAfter": current.poll_after}',
                '{"id": token, "status": current.status, "final": current.final, "pollAfter": current.poll_after}',
            ),
        ),
        "a bad link has two answers": (
            f"{_ONE_ANSWER}::test_every_bad_token_gets_the_same_bytes_and_headers[testing-status JSON]",
            Swap("views.pages:bad_link", "Code.NOT_FOUND", 'Code.TOO_LATE if "." in request.path else Code.NOT_FOUND'),
        ),
        "the time that the comparison of secrets takes tells of them": (
            f"{_ONE_ANSWER}::test_the_webhook_secret_is_compared_in_constant_time",
            Swap("security.comparing:is_one_of", "hmac.compare_digest(given.encode(), one.encode())", "given == one"),
        ),
    },
    "A payment started by another site's page: POST only, from a page that the browser says is the shop's own.": {
        "nobody asks where a form comes from": (
            f"{_SITE}::test_the_referer_does_not_matter",
            Swap("views.order:create_checkout", "not may_use_links()", "False"),
        ),
        "neighbouring hosts are trusted": (
            f"{_SITE}::test_exactly_the_shops_own_pages_may_send_the_form[by its server name]",
            Swap("views.headers:_is_same_site", '("same-origin", "none")', '("same-origin", "none", "same-site")'),
        ),
        "a problem tells what the service said": (
            f"{_HEADLESS}::test_every_problem_has_its_code",
            Swap(
                "views.order:_unavailable",
                "problem(code, text.title, write, wait)",
                "problem(code, str(error), write, wait)",
            ),
        ),
        "every origin may read the answers": (
            f"{_HEADLESS}::test_json_opens_nothing_to_another_site[another origin]",
            Swap("views.headers:allow_origins", "origin in origins", "True"),
        ),
        "a cache may give the answer for one origin to another": (
            f"{_HEADLESS}::test_a_listed_origin_reads_answers_errors_and_preflights",
            Drop("views.headers:allow_origins", "add"),
        ),
        "listed origins may read every answer": (
            f"{_HEADLESS}::test_a_listed_origin_reads_answers_errors_and_preflights",
            Swap("views.headers:allow_origins", "request.endpoint not in _FOR_ORIGINS", "False"),
        ),
        "a page of any origin counts as a program": (
            f"{_HEADLESS}::test_json_opens_nothing_to_another_site[a sandboxed frame]",
            Swap("views.headers:may_use_links", "origin is None", "origin in (None, 'null')"),
        ),
        "a form without any header counts as a program": (
            f"{_HEADLESS}::test_a_form_of_a_listed_origin_is_no_json",
            Swap("views.headers:may_use_links", "not (wants_json() or request.is_json)", "False"),
        ),
        "a media type with a charset is another type": (
            f"{_HEADLESS}::test_json_is_given_where_it_is_preferred[Application/JSON; charset=utf-8-True]",
            Swap("views.headers:wants_json", "parse_options_header(value)[0]", "value"),
        ),
        "a host that makes no sense is trusted": (
            f"{_SITE}::test_no_host_header_makes_another_site_the_shops_own[by its public address]",
            Swap("views.headers:_own_origins", "set()", '{f"{request.scheme}://{request.host}"}'),
        ),
        "Flask-WTF guards nothing any more": (
            "security/test_flask_wtf.py::test_the_shops_own_posts_are_guarded_as_before[/own-csrf first]",
            Before("views.headers:exempt_from_csrf.exempt", "exempt", 'app.config["WTF_CSRF_ENABLED"] = False'),
        ),
        "a Flask-WTF that is set up later refuses our posts": (
            "security/test_flask_wtf.py::test_our_posts_need_no_token_of_a_session[csrf last]",
            Drop("views.headers:exempt_from_csrf", "before_request"),
        ),
    },
    "A customer sent to a stranger: only the service's own URL, plain and of an allowed origin; no Host is believed.": {
        "the list of allowed origins is not read": (
            f"{_URLS}::test_no_trick_leads_away_from_the_listed_origin",
            Swap("security.origins:require_allowed", "origin not in allowed", "not origin"),
        ),
        "plain http is allowed": (
            f"{_URLS}::test_without_a_list_every_trick_ends_on_https_or_on_this_machine",
            Swap("security.origins:require_allowed", '"http://"', '"ftp://"'),
        ),
        "an account's own list of allowed origins is not read": (
            f"{_ACCOUNTS}::test_pay_buttons_lead_to_the_payment_pages_of_the_orders_account_only",
            Swap("runtime:Runtime.origins_of", "own is None", "True"),
        ),
        "links lead to the first tenant": (
            f"{_TENANTS}::test_links_lead_to_the_orders_own_host_in_requests_receivers_and_commands",
            Swap("views.order_urls:status_url", "runtime().settings_of_order(link)", "runtime().settings"),
        ),
        "a link asks whose an order is in a session of its own": (
            f"{_TENANTS}::test_a_link_for_an_order_that_is_not_committed_yet_leads_to_its_host",
            Swap("checkouts.shop_answers:ShopAnswers._ask", "self.parts.sessions.open_connection()", "None"),
        ),
        "pages of a tenant speak the first tenant's languages": (
            f"{_TENANTS}::test_pages_name_their_shop_and_speak_its_languages",
            Swap("views.language:of_page", "page_settings().languages", "runtime().settings.languages"),
        ),
        "the page of an account's order lets its form lead to the settings' payment pages": (
            f"{_ACCOUNTS}::test_pay_buttons_lead_to_the_payment_pages_of_the_orders_account_only",
            Swap("views.headers:lead_forms_to", "shop.origins_of(account())", "shop.settings.checkout_origins"),
        ),
        "a URL that was stored is not looked at again": (
            f"{_URLS}::test_a_url_that_was_allowed_and_is_not_any_more_sends_nobody_there",
            Drop("checkouts.start:Starter._usable", "require_allowed"),
        ),
        "odd characters are taken": (
            f"{_URLS}::test_no_trick_leads_away_from_the_listed_origin",
            Value("security.origins:_NOT_IN_URLS", "re.compile(r'[\\\\\"<>]')"),
        ),
        "user names are taken": (
            f"{_URLS}::test_no_trick_leads_away_from_the_listed_origin",
            Swap("security.origins:origin_of", '"@" in parts.netloc', "False"),
        ),
        "odd hosts are taken": (
            f"{_URLS}::test_without_a_list_every_trick_ends_on_https_or_on_this_machine",
            Swap("security.origins:origin_of", "_is_plain(parts.hostname)", "True"),
        ),
        "the public address is not used within a request": (
            f"{_HOSTS}::test_addresses_never_come_from_a_host_that_nobody_vouched_for[public address]",
            Never("views.order_urls:_absolute", "public_url"),
        ),
        "no address or trusted hosts are demanded": (
            "test_config.py::test_a_production_app_must_know_its_address",
            Drop("config:_checked", "_require_public_address"),
        ),
        "redirects tidy paths up": (
            f"{_HOSTS}::test_no_answer_repeats_a_host",
            Swap("views:_make_blueprint", "False", "True"),
        ),
    },
    "Markup from outside, and our pages inside a stranger's: everything is escaped, under a strict policy.": {
        "the button's label is markup": (
            "security/test_markup.py::test_no_field_adds_an_element_or_attribute_to_a_page[0]",
            InTemplate("paycheckout/button.html", "label | e", "label | safe"),
        ),
        "the button's label is escaped only where the shop escapes": (
            "security/test_markup.py::test_a_label_is_text_even_where_the_shop_escapes_nothing_by_itself",
            InTemplate("paycheckout/button.html", "label | e", "label"),
        ),
        "pages may be framed": (
            f"{_EVERY}[200 page]",
            Said("views.headers:_page_policy", "frame-ancestors 'none';", ""),
        ),
        "what is no page may be framed": (
            f"{_EVERY}[200 JSON]",
            Said("views.headers:_POLICY", "frame-ancestors 'none';", ""),
        ),
        "scripts that are not ours run": (
            f"{_EVERY}[200 page]",
            Said("views.headers:_page_policy", "script-src 'nonce-", "script-src 'unsafe-inline' 'nonce-"),
        ),
        "types are sniffed": (
            "security/test_every_answer.py::test_our_static_files_are_not_sniffed",
            Swap("views.headers:harden", '"nosniff"', '"sniff"'),
        ),
        "errors that no route answers have no headers": (
            f"{_EVERY}[405]",
            Drop("views:_make_blueprint", "after_app_request"),
        ),
    },
    "Words of strangers that steer a terminal or hide a payment: control characters are escaped.": {
        "control characters are printed": (
            "security/test_terminals.py::test_no_command_prints_what_a_terminal_would_obey[show o-1]",
            Swap("text:visible", "char.isprintable()", "True"),
        ),
        "an access token is printed as it comes": (
            "security/test_terminals.py::test_an_access_token_that_no_header_takes_is_not_printed",
            Drop("cli.options:log_in", "header_value"),
        ),
        "a total that is none hides its order": (
            "books/test_explain.py::test_what_another_program_wrote_is_told_and_hides_nothing[no amount]",
            Swap("books.explain:total_text", "(ValueError, TypeError, ArithmeticError)", "ZeroDivisionError"),
        ),
    },
    "A stranger on the owner's pages, or one who decides in the owner's name: a permission before every answer.": {
        "nobody asks who looks": (
            f"{_OWNER}::test_whom_the_shop_does_not_name_sees_nothing",
            Drop("views.owner:make_owner_view", "_require_permission"),
        ),
        "nobody may look as well": (
            f"{_OWNER}::test_whom_the_shop_does_not_name_sees_nothing",
            Never("views.owner:_require_permission", "who"),
        ),
        "another site decides": (
            f"{_OWNER}::test_another_sites_form_decides_nothing",
            Drop("views.owner:_require_permission", "require_same_site"),
        ),
        "a form is good for everybody": (
            f"{_OWNER}::test_a_form_is_good_for_the_person_it_was_made_for_only",
            Swap("views.owner_forms:subject_of_form", "who != person().name", "False"),
        ),
        "a receiver's words are shown": (
            f"{_OWNER}::test_what_failed_in_a_receiver_is_named_without_its_words",
            InTemplate("owner/order.html", 'event.last_error.partition(":")[0]', "event.last_error"),
        ),
    },
    "A call that goes elsewhere than to the service, or an answer without end: one origin, caps and a deadline.": {
        "redirects are followed": (
            f"{_ANSWERS}::test_a_redirect_reaches_nobody",
            Never("client.transport:_fault_of", "status_code"),
        ),
        "certificates of the environment are trusted": (
            f"{_ANSWERS}::test_no_certificate_of_the_environment_is_trusted",
            Swap("client.connections:_Pools.__init__", "False", "True"),
        ),
        "a connection that holds more than its answer is used again": (
            f"{_ANSWERS}::test_what_follows_an_answer_is_never_the_answer_to_the_next_call",
            Never("client.connections:_Pools.handle_request", "is_unanswered"),
        ),
        "an id's slashes are not quoted": (
            f"{_IDS}::test_a_hostile_id_is_one_segment",
            Swap("client.operations:segment", 'quote(value, safe="")', "quote(value)"),
        ),
        "dots are an id": (
            f"{_IDS}::test_what_is_no_segment_is_never_sent[dots-path]",
            Swap("client.operations:segment", '("", ".", "..")', '("",)'),
        ),
        "a body has no cap": (
            f"{_ANSWERS}::test_an_endless_answer_is_cut_off_in_time_and_in_flat_memory[until-close]",
            Never("client.transport:Body.add", "max_bytes"),
        ),
        "each read has a deadline of its own": (
            f"{_ANSWERS}::test_a_dripping_answer_ends_with_the_budget[one-header]",
            Swap(
                "client.connections:_Pools.handle_request",
                "(limits, False)",
                "(Limits(limits.until + 30.0, limits.max_bytes), False)",
            ),
        ),
        "a call that may not be repeated goes over a kept connection": (
            "client/test_connections.py::test_what_must_not_be_sent_twice_gets_a_new_connection",
            Swap("client.connections:_Pools.handle_request", "limits.repeatable", "True"),
        ),
        "packed bodies are taken": (
            f"{_ANSWERS}::test_a_fault_is_a_typed_error_at_once[encoded-gzip]",
            Never("client.transport:_fault_of", "headers"),
        ),
    },
    "Accounts of one sandbox see nothing of each other.": {
        "a deposit is read by everybody": (
            f"{_SANDBOX_ACCOUNTS}::test_what_one_account_made_is_unknown_to_another_both_ways[sqlite-deposits]",
            Swap("sandbox.deposits.transitions:find_deposit", "deposit.user_id == user_id", "True"),
        ),
        "webhooks go to the first account's address": (
            f"{_SANDBOX_ACCOUNTS}::test_webhooks_go_to_the_account_that_they_concern_and_nowhere_without_an_address[sqlite]",
            Swap("sandbox.outgoing.webhooks:_address", "webhook.user_id", '"5a6d00000000000000000001"'),
        ),
        "the log tells who a caller claims to be": (
            f"{_SANDBOX_ACCOUNTS}::test_the_log_tells_whose_credentials_were_accepted",
            Swap("sandbox.wire.request_log:log_request", 'g.get("account")', 'request.headers.get("X-Client-ID")'),
        ),
        "a fault of one account strikes all": (
            f"{_SANDBOX_ACCOUNTS}::test_a_fault_of_an_account_strikes_nobody_else[error]",
            Swap("sandbox.outgoing.faults:_of_account", "fault.user_id in {None, user_id}", "True"),
        ),
    },
    "Worlds of one sandbox see nothing of each other.": {
        "pages of a world are open on this machine": (
            f"{_WORLDS}::test_a_token_opens_its_own_world_only",
            Swap("sandbox.wire.callers:check_password", "is_local() and not name", "is_local()"),
        ),
        "all worlds have the published credentials": (
            f"{_WORLDS}::test_a_token_opens_its_own_world_only",
            Swap("sandbox.auth.start_state:first_merchant", "not here.name", "True"),
        ),
        "a name is not looked at": (
            f"{_WORLDS}::test_a_name_that_could_be_something_else_is_refused[..]",
            Swap("sandbox.wire.field_types:Matching.read", "re.fullmatch(self.pattern, value)", "True"),
        ),
        "a world's token comes with a snapshot": (
            f"{_WORLDS}::test_a_snapshot_of_another_world_brings_neither_token_nor_address",
            Swap("sandbox.control.snapshots:_rows", "one.name in _LEFT_OUT", 'one.name == "claimed_until"'),
        ),
    },
    "Terminal and inspector lose nothing and tell the truth.": {
        "the command pay forgets the amount": (
            f"{_COMMANDS}::test_a_customer_picks_pays_fails_and_leaves",
            Swap("sandbox.terminal.commands:_carry_out", "in_path | _NO_FIELDS", "set(given)"),
        ),
        "a command that was refused succeeds": (
            f"{_COMMANDS}::test_what_goes_wrong_is_one_sentence_and_an_exit_code[--checkout does not exist]",
            Swap("sandbox.terminal.connection:Connection.fetch", "status not in (200, 201)", "False"),
        ),
        "tail goes on in a world that was reset": (
            f"{_COMMANDS}::test_tail_tells_every_event_once_and_goes_on_after_a_reset",
            Swap("sandbox.control.events:_places", "began != beginning", "False"),
        ),
    },
    "A sandbox is brought into exactly the state that is asked for, or stays as it is.": {
        "a switch of another process is not seen": (
            f"{_LEVERS}/test_unknowns.py::test_processes_on_one_database_and_those_that_start_later_agree",
            Drop("sandbox.world.settings:follow", "take"),
        ),
        "a damaged snapshot is restored": (
            f"{_LEVERS}/test_snapshots.py::test_what_cannot_be_restored_is_refused_and_changes_nothing[sqlite]",
            Swap(
                "sandbox.control.snapshots:_read",
                "sha256(bytes(snapshot.state)).hexdigest() != snapshot.digest",
                "False",
            ),
        ),
        "a snapshot of another version is restored": (
            f"{_LEVERS}/test_snapshots.py::test_what_cannot_be_restored_is_refused_and_changes_nothing[sqlite]",
            Swap("sandbox.control.snapshots:_read", "snapshot.version != version()", "False"),
        ),
        "a restored number is given again": (
            f"{_LEVERS}/test_snapshots.py::test_a_snapshot_moves_between_sqlite_and_postgresql",
            Drop("sandbox.control.snapshots:_exchange_rows", "_raise_sequence"),
        ),
        "a webhook that was being sent is lost by a restore": (
            f"{_LEVERS}/test_snapshots.py::test_a_webhook_that_is_being_sent_is_sent_again_after_a_restore",
            Swap("sandbox.control.snapshots:_rows", "one.name in _LEFT_OUT", "False"),
        ),
        "a snapshot of any size is taken": (
            f"{_LEVERS}/test_snapshots.py::test_a_large_one_is_neither_taken_nor_read",
            Swap("sandbox.control.snapshots:take_snapshot", "size > MAX_BYTES", "False"),
            Swap("sandbox.control.snapshots:take_snapshot", "len(content) > MAX_BYTES", "False"),
        ),
    },
    "What the sandbox says of money holds under every switch, and the client reads all of it.": {
        "a known reference is answered with another amount": (
            f"{_FORMS}::test_unknown_known_reference_idempotent[sqlite]",
            Swap(
                "sandbox.disbursements.batches:_made_before",
                "(made.user_id, made.kind, made.currency, made.amount, made.group_id is not None)",
                "(made.user_id, made.kind, made.currency, item.amount, made.group_id is not None)",
            ),
        ),
        "a known reference is answered with another payee": (
            f"{_FORMS}::test_unknown_known_reference_idempotent[sqlite]",
            Swap(
                "sandbox.disbursements.batches:_made_before",
                "transfers[made.id].goes_where(item.transfer)",
                "True",
            ),
        ),
        "a call above the limit is done": (
            "sandbox/wire/test_every_answer.py::test_unknown_rate_limit[sqlite]",
            Swap("sandbox.wire.callers:check_rate", "calls > int(limit)", "False"),
        ),
        "of a list that shows one record, only that one is read": (
            "client/test_forms.py::test_every_form_of_the_list_is_read_whole[record]",
            Swap(
                "client.calls:Caller.fetch",
                "found.docs and limit > 1",
                "False",
            ),
        ),
    },
    "The sandbox used against its developer, or taken for the service: known hosts, this machine, tokens.": {
        "control calls need no token": (
            f"{_SANDBOX}::test_without_the_token_no_control_call_answers_or_moves_anything[form]",
            Never("sandbox.wire.callers:check_control_token", "is_control_token"),
        ),
        "every host name is taken": (
            f"{_SANDBOX}::test_a_rebound_name_gets_nothing_even_with_the_token[evil.example]",
            Never("sandbox.wire.callers:check_host", "hosts"),
        ),
        "nobody looks at the page that a request comes from": (
            f"{_FOREIGN}::test_a_foreign_page_pays_no_checkout",
            Never("sandbox.wire.cross_origin:check_site", "is_cross_site"),
        ),
        "a signature is kept whole": (
            "sandbox/wire/test_request_log.py::test_an_entry_is_bounded_whatever_is_sent",
            Swap(
                "sandbox.wire.request_log:log_request", '_signed(g.get("rejected_string"))', 'g.get("rejected_string")'
            ),
        ),
        "the inspector's forms need no token": (
            f"{_SANDBOX}::test_no_lever_of_the_inspector_moves_for_another_page[no-word-of-where-from]",
            Swap(
                "sandbox.wire.callers:check_form",
                'hmac.compare_digest(request.form.get("token", "").encode(), form_token(of).encode())',
                "True",
            ),
        ),
        "the inspector's forms may come from anywhere": (
            f"{_SANDBOX}::test_the_forms_token_alone_is_no_leave_for_another_page",
            Swap(
                "sandbox.wire.callers:check_form",
                'fetched_from != "same-origin" or origin not in {None, request.host_url.rstrip("/")}',
                "False",
            ),
        ),
        "webhooks leave this machine": (
            f"{_SANDBOX}::test_a_name_that_moved_away_is_not_followed",
            Swap("sandbox.outgoing.webhook_sender:_resolve", "not loopback_only", "True"),
        ),
        "a webhook goes to another address than was looked at": (
            f"{_SANDBOX}::test_a_name_that_moves_between_the_look_and_the_call_is_called_where_it_was",
            Swap("sandbox.outgoing.webhook_sender:_Connection.connect", "self.address", "(self.host, self.port)"),
        ),
        "this machine is the service in production": (
            "test_config.py::test_so_is_this_machine_in_any_other_spelling",
            Never("config:_require_real_service", "reaches_this_machine"),
        ),
    },
    "Nothing is paid out twice: a lost answer is looked up, whole, before anything is sent again.": {
        "an outage costs a token in every round": (
            "payouts/test_reconcile.py::test_an_outage_does_not_cost_a_token_in_every_round",
            Swap("payouts.payout_schedule:Pauses.accounts", "until > now", "False"),
        ),
        "a payout is looked up on one page only": (
            "client/test_find.py::test_payouts_on_every_page_are_found[paged]",
            Swap(
                "client.resources.fiat_disbursements:FiatDisbursements._search",
                "_MOST_PAGES",
                "1",
            ),
        ),
        "the test helper finishes another payout than was named": (
            "test_testing.py::test_a_payout_is_finished_by_what_names_it",
            Swap("testing:SandboxControl._disbursement_id", "one.reference == reference", "True"),
        ),
        "a lost answer passes for a call that was not carried out": (
            "client/test_errors.py::test_a_call_says_whether_it_may_have_been_carried_out[fiat-hung-up]",
            Swap("client.errors:PaymentsError.__init__", '"unknown"', '"no"'),
        ),
    },
    "A refund goes only where the customer said and the approver saw, and the customer's link gives nothing else.": {
        "a claim is counted after the call": (
            f"{_CLAIMS}::test_a_claim_is_counted_and_committed_before_the_call[sqlite]",
            Swap(
                "payouts.claims:RefundClaims._make_recipient",
                "self._count(refund)",
                "refund",
            ),
        ),
        "a link makes any number of recipients": (
            f"{_CLAIMS}::test_a_link_makes_at_most_twenty_recipients_however_many_ask_at_once[sqlite]",
            Swap("payouts.claims:RefundClaims._count", "MAX_CLAIMS", "30"),
        ),
        "a call that the service was not reached with is counted": (
            f"{_CLAIMS}::test_a_claim_counts_unless_it_was_certainly_not_carried_out",
            Never("payouts.claims:RefundClaims._make_recipient", "carried_out"),
        ),
        "a claim does not count as a change of the destination": (
            f"{_CLAIMS}::test_the_customer_may_correct_it_until_a_person_approves_what_they_saw",
            Swap("payouts.claims:RefundClaims.claim", "payout.revision + 1", "payout.revision"),
        ),
        "a claim goes on after a decision": (
            f"{_CLAIMS}::test_a_claim_that_a_decision_overtakes_changes_nothing_and_says_so",
            Never("payouts.claims:RefundClaims._require_claimable", "can_be_claimed"),
        ),
        "an IBAN with a typing error is taken for an account number": (
            f"{_REFUND}::test_a_fault_is_told_at_its_field_and_nothing_else_is_lost",
            Never("payouts.refund_forms:_fault", "begins_like_iban"),
        ),
        "a proof is read with the settings' keys": (
            "accounts/test_payouts.py::test_a_transfer_proof_is_read_with_the_keys_that_can_read_it",
            Swap(
                "payouts.calls:PayoutCalls.proof",
                "payout.payer",
                "''",
            ),
        ),
        "the account number is stored for people": (
            f"{_CLAIMS}::test_a_bank_account_becomes_a_recipient_of_the_service_and_no_number_is_stored",
            Swap("payouts.destinations:masked_account", "mask(account_number)", "account_number"),
        ),
        "the account number is in a log line": (
            f"{_CLAIMS}::test_no_account_number_is_logged_shown_or_written",
            First(
                "views.refund:_claim",
                "__import__('logging').getLogger('flask_paycheckout').debug('claimed: %s', dict(request.form))",
            ),
        ),
        "the account number is shown again": (
            f"{_REFUND}::test_a_fault_is_told_at_its_field_and_nothing_else_is_lost",
            Swap("views.refund:_fields", "form is None or name == ACCOUNT_NUMBER", "form is None"),
        ),
        "a fault loses what was typed into other fields": (
            f"{_REFUND}::test_a_fault_is_told_at_its_field_and_nothing_else_is_lost",
            Swap("views.refund:_fields", "form is None or name == ACCOUNT_NUMBER", "True"),
        ),
        "the shop's own destination is shown to whoever has the link": (
            f"{_REFUND}::test_only_what_the_customer_said_is_shown_of_the_destination",
            Never("views.refund:_shown_destination", "revision"),
        ),
        "a link to an order opens a refund": (
            f"{_TOKENS}::test_no_token_is_good_for_another_purpose",
            Value("security.signed_links:REFUND", "'paycheckout.status'"),
        ),
        "a payout that is no refund has a page": (
            f"{_REFUND}::test_every_bad_link_gets_the_answer_of_the_other_pages_and_changes_nothing",
            Swap("payouts.claims:RefundClaims.find", "found.kind == PayoutKind.REFUND", "True"),
        ),
        "another site's form says where a refund goes": (
            f"{_REFUND}::test_a_form_of_another_site_is_refused",
            Swap("views.refund:refund", "not may_use_links()", "False"),
        ),
        "money that refunds cover is marked as paid back by hand": (
            "payouts/test_paybacks.py::test_money_that_was_refunded_by_hand_is_neither_paid_back_again_nor_kept",
            Swap("payouts.paybacks:Paybacks.mark", "row['payback'] == KEPT", "row['payback'] != PAID_BACK"),
        ),
    },
    "People decide on payouts once, on what they saw; what waits for them is told.": {
        "a refund's form that is sent twice makes two": (
            f"{_DESK}::test_a_form_that_is_sent_twice_makes_one_refund",
            Swap("payouts.requests:PayoutRequests.refund", "seen not in (None, str(before))", "False"),
        ),
        "an approval on the owner's page is of whatever is stored": (
            f"{_DESK}::test_an_approval_without_the_revision_approves_nothing",
            Swap("views.owner_payouts:decide_payout", "-1", "None"),
        ),
        "a payout that nothing sends is no alarm": (
            f"{_OUT}::test_each_trouble_is_named_within_five_minutes[reconcile does not run]",
            Swap("books.payout_alarms:_is_late", "c.next_attempt_at <= patience", "c.id < 0"),
        ),
    },
    "Every call for an order is made with the keys of its own merchant account.": {
        "an account without keys is taken": (
            f"{_ACCOUNTS}::test_an_account_without_keys_never_uses_those_of_the_settings",
            Swap("config:check_account", '(None, "")', "()"),
        ),
        "a deposit is read with the keys of the settings": (
            f"{_ACCOUNTS}::test_rotated_keys_are_used_by_the_call_that_the_old_ones_are_refused_for[settle]",
            Swap(
                "checkouts.settlement:Settlement.settle",
                "self.service.permit(READ, checkout.account)",
                "self.service.permit(READ)",
            ),
        ),
        "reconcile reads with the keys of the settings": (
            f"{_ACCOUNTS}::test_every_call_for_an_order_is_signed_by_its_own_account",
            Swap(
                "checkouts.settlement:Settlement.reading",
                "accounts.client_of(checkout.account, READ)",
                "accounts.client_of('', READ)",
            ),
        ),
        "an account that is gone falls back to the keys of the settings": (
            f"{_ACCOUNTS}::test_an_account_that_is_gone_stops_no_other",
            Swap("service.accounts:Accounts.client_of", 'name == ""', "name == '' or self._ask(name) is None"),
        ),
        "keys are never asked for again": (
            "accounts/test_keys.py::test_the_shop_is_asked_once_for_a_while_and_its_client_is_kept",
            Swap("service.accounts:Accounts._used", "now - known.asked_at < self.cache", "True"),
        ),
        "refused keys are kept until they are old": (
            f"{_ACCOUNTS}::test_rotated_keys_are_used_by_the_call_that_the_old_ones_are_refused_for[start]",
            Swap("service.accounts:Accounts.refused", 'float("-inf")', "known.asked_at"),
        ),
        "all accounts share one window": (
            f"{_ROUNDS}[waiting-refuses its keys-20]",
            Swap(
                "service.limits:AccountLimits.add",
                "_Answers()",
                "next(iter(self._answers.values()), _Answers())",
            ),
        ),
        "an answer that is late keeps its place": (
            f"{_ROUNDS}[waiting-hangs-20]",
            Swap("checkouts.due_reading:DueRound._note_late", "self.now() - _LATE", "-1.0"),
        ),
        "all accounts share one circuit breaker": (
            f"{_ACCOUNTS}::test_a_service_that_fails_for_one_account_is_still_asked_for_the_others",
            Swap("service.calls:Permit.circuit", "self.account", "''"),
        ),
        "the circuit of the settings' account decides for all": (
            f"{_ACCOUNTS}::test_a_service_that_fails_for_one_account_is_still_asked_for_the_others",
            Swap(
                "service.calls:Service._admit",
                "self.breaker.admit(permit.circuit)",
                "self.breaker.admit(('', permit.operation))",
            ),
        ),
        "a function of the shop that ends the process ends the round": (
            "accounts/test_one_broken.py::test_it_stops_none_of_twenty_others[a function that ends the process]",
            Swap("service.accounts:Accounts._asked", "BaseException", "Exception"),
        ),
        "failures of a seller count for the settings' account": (
            f"{_ACCOUNTS}::test_a_service_that_fails_for_one_account_is_still_asked_for_the_others",
            Swap("service.calls:Service.note_outcome", "permit.circuit", "('', permit.operation)"),
        ),
        "a page of another account is used again": (
            f"{_ACCOUNTS}::test_an_order_that_moves_to_another_seller_gets_another_page",
            Swap(
                "checkouts.start:Starter._usable",
                "(current.total, current.due, current.account) != asked",
                "(current.total, current.due) != asked[:2]",
            ),
        ),
        "payouts are sent with the token of the settings": (
            "accounts/test_payouts.py::test_each_is_sent_with_the_token_of_its_account_and_read_with_its_keys",
            Swap(
                "payouts.calls:PayoutCalls.paying",
                "self.accounts.access_token_of(payer) if payer else given",
                "given",
            ),
        ),
        "what was sent with the token of the settings is looked up with the account's keys only": (
            "accounts/test_payouts.py::test_what_was_sent_with_the_token_of_the_settings_is_found_and_read_with_their_keys",
            Swap("payouts.calls:PayoutCalls._asking", "account if sent.paid_by is None else sent.paid_by", "account"),
        ),
        "the keys of an account show themselves in an error": (
            "accounts/test_keys.py::test_an_account_that_is_gone_is_told_without_secrets",
            Swap("service.accounts:Accounts._asked", "type(error).__name__", "error"),
        ),
    },
    "Evidence about a payout counts only with the clock and the keys that gave it.": {
        "the second look-up may follow at once by the clock of another host": (
            f"{_TRIES}::test_the_minute_between_two_look_ups_is_the_databases",
            Never("payouts.results:PayoutResults.missed", "left"),
        ),
        "the time between two look-ups goes by the host's own clock": (
            f"{_TRIES}::test_the_minute_between_two_look_ups_is_the_databases",
            Swap("payouts.following:Following.look_up", "self.database_clock()", "self.parts.clock()"),
        ),
        "a look-up ends a minute before a known payout": (
            "client/test_find.py::test_a_look_up_ends_an_hour_before_a_known_payout_by_the_services_own_times",
            Value("client.resources.fiat_disbursements:_LOOK_BACK", "timedelta(minutes=1)"),
        ),
        "a look-up ends at a payout that the service may have had later": (
            f"{_TRIES}::test_no_clock_of_the_service_hides_a_payout_from_its_look_up[-2]",
            Value("payouts.payout_schedule:CLOCKS_DIFFER", "-timedelta(days=1)"),
            Value("client.resources.fiat_disbursements:_LOOK_BACK", "timedelta(0)"),
        ),
        "an answer that comes too late to move a payout is not kept": (
            f"{_TRIES}::test_an_answer_that_comes_after_a_person_resolved_it_is_kept_for_people",
            Swap("payouts.results:PayoutResults.found", "self._keep_as_history(current, move)", "True"),
        ),
        "the installation's key is made with the first payout, which an earlier backup does not have": (
            f"{_TRIES}::test_a_restored_database_asks_for_the_same_reference_again[sqlite]",
            Never("payouts.payout_queue:PayoutQueue.backlog", "self"),
        ),
        "a restored database asks for another service reference": (
            f"{_TRIES}::test_a_restored_database_asks_for_the_same_reference_again[sqlite]",
            Swap(
                "payouts.payout_tries:_digest",
                "hmac.digest(key, msgspec.json.encode(parts), 'sha256')",
                "__import__('os').urandom(32)",
            ),
        ),
        "a retry is sent before the earlier try is read": (
            f"{_TRIES}::test_a_retry_takes_an_earlier_try_that_was_carried_out_after_all",
            Swap("payouts.sending:PayoutSender._may_be_sent", "self.following.ask_earlier(payout, results)", "True"),
        ),
        "a retry is sent while the earlier try cannot be read": (
            f"{_TRIES}::test_a_retry_waits_while_an_earlier_try_cannot_be_read",
            Swap("payouts.following:Following.ask_earlier", "self.calls.reading(payout, one)()", "None"),
        ),
        "what other keys do not find counts as missed": (
            f"{_SELLERS}::test_what_other_keys_do_not_find_is_unknown_and_never_sent_again",
            Swap("payouts.calls:PayoutCalls._asking", "sent.client_id in (None, client.client_id)", "True"),
        ),
        "a payout in doubt is sent again with other keys": (
            f"{_SELLERS}::test_one_that_may_have_been_sent_is_sent_again_with_the_same_keys_only",
            Never("payouts.sending:PayoutSender._may_be_sent", "client_id"),
        ),
        "a refusal after doubt fails the payout": (
            f"{_TRIES}::test_a_refusal_after_doubt_is_looked_up_again_and_then_unknown",
            Swap("payouts.results:PayoutResults.missed", "payout.refused and not payout.doubted", "payout.refused"),
        ),
        "a row that cannot be pruned ends the run": (
            "books/test_pruning.py::test_a_row_that_the_database_cannot_change_is_named_and_stops_no_other[sqlite]",
            Swap("books.pruning:Pruning._removed_each", "Exception", "ZeroDivisionError"),
        ),
        "a booking that cannot be read ends the export": (
            f"{_EXPORT}::test_a_booking_that_cannot_be_read_is_named_and_stops_no_other",
            Swap("books.export:Books._pages", "msgspec.ValidationError", "KeyError"),
        ),
        "a database error in one step of a round of payouts ends the round": (
            "payouts/test_sending.py::test_a_database_error_in_one_step_of_a_round_stops_no_other_step",
            First("payouts.sending:PayoutSender._try", "return step(results)"),
        ),
        "a sender waits for a row that the shop has locked": (
            "payouts/test_leases.py::test_a_row_that_the_shop_has_locked_keeps_no_sender_waiting",
            Swap("database.state_table:StateTable.unlocked", "ids.with_for_update(skip_locked=True)", "ids"),
        ),
        "a payout that cannot be stored ends the round": (
            "payouts/test_sending.py::test_one_whose_answer_cannot_be_stored_stops_no_other_in_any_step",
            Swap("payouts.results:PayoutResults.move", "Exception", "ReceiverFailed"),
        ),
        "money given back by hand does not count against what arrived": (
            f"{_REFUNDS}::test_money_given_back_by_hand_is_completed_counted_booked_and_told[sqlite]",
            Swap(
                "payouts.requests:PayoutRequests.refund",
                "self.limits.take(transaction.connection, payment, exact)",
                "by_hand or self.limits.take(transaction.connection, payment, exact)",
            ),
        ),
        "the limit of refunds counts what is sent": (
            f"{_REFUNDS}::test_another_currency_is_sent_and_what_was_paid_is_counted",
            Swap(
                "payouts.requests:PayoutRequests.refund",
                "self.limits.take(transaction.connection, payment, exact)",
                "self.limits.take(transaction.connection, payment, sent.amount)",
            ),
        ),
        "a refund that fails gives back what was sent": (
            f"{_REFUNDS}::test_no_history_refunds_more_than_what_arrived",
            Swap("payouts.stored:PayoutMoves._count_refund", "payout.exact_counts", "payout.exact_amount"),
        ),
        "the amount that the service reports of a refund in another currency is counted": (
            f"{_AUDIT}::test_a_refund_in_another_currency_has_both_sums_also_after_a_correction",
            Swap(
                "payouts.decisions:PayoutDecisions._values",
                "payout.counts_currency != payout.currency",
                "False",
            ),
        ),
        "the books miss what a refund in another currency counts": (
            f"{_AUDIT}::test_a_refund_in_another_currency_has_both_sums_also_after_a_correction",
            Swap("books.ledger:payout_line", "_counted(payout, -1)", "None"),
        ),
        "an audit does not compare what refunds count with the payment": (
            f"{_ALONE}[sqlite-a payment that counts its refunds otherwise]",
            Swap("books.audit.books:_judge", "_is_counted(row, refunds[name])", "True"),
        ),
        "an audit does not compare what the books count": (
            f"{_ALONE}[sqlite-a refund's booking counted otherwise]",
            Swap("books.audit.books:_bear_out_payout", '("gross", "fee", "received")', '("gross", "fee")'),
        ),
        "a refund in another currency goes to a wallet of another network": (
            f"{_REFUND}::test_a_refund_in_another_currency_asks_for_what_that_needs_and_says_both_sums",
            Swap("views.refund:refund", "found.currency", '"usdc-polygon"'),
        ),
        "only the currency that was paid decides whether a person approves a refund": (
            f"{_REFUNDS}::test_a_person_approves_what_reaches_the_limit_of_either_currency[limits1]",
            Swap(
                "payouts.requests:PayoutRequests.refund",
                "self._status(to, False if by_hand else None, counted, sent)",
                "self._status(to, False if by_hand else None, counted)",
            ),
        ),
        "the daily limit counts what a refund takes of the payment": (
            f"{_DAILY}::test_of_a_refund_in_another_currency_what_is_sent_counts",
            Swap("payouts.payout_queue:PayoutQueue._take_within", "payout.amount", "payout.counts"),
        ),
        "an estimate that the service does not give keeps the owner from refunding": (
            f"{_DESK}::test_a_service_that_is_away_gives_no_estimate_and_keeps_nobody_from_refunding",
            Swap("views.owner_payouts:_estimate", "PaymentsError", "KeyError"),
        ),
        "the token of the settings pays for an account without one": (
            f"{_SELLERS}::test_an_account_without_a_token_has_none_unless_it_says_that_the_settings_pay",
            Swap(
                "payouts.calls:PayoutCalls.paying",
                "self.accounts.access_token_of(payer) if payer else given",
                "(self.accounts.access_token_of(payer) if payer else given) or given",
            ),
        ),
        "money is marked as paid back by hand while a refund of it is open": (
            "payouts/test_paybacks.py::test_refunds_that_cover_it_take_it_off_the_list_and_nobody_can_say_otherwise[sqlite]",
            Swap("payouts.paybacks:Paybacks.mark", "self._open_refund(connection, checkout_id)", "None"),
        ),
    },
    "Nothing is paid out twice, and nothing that was committed is forgotten.": {
        "a payout is stored in a transaction of its own": (
            "payouts/test_requests.py::test_it_exists_exactly_if_the_shop_commits",
            Swap(
                "payouts.requests:PayoutRequests._insert",
                "session.scalars(statement.returning(model)).one_or_none()",
                "(session.scalars(statement.returning(model)).one_or_none(), session.commit())[0]",
            ),
        ),
        "a payout is claimed after the call": (
            f"{_ONCE}::test_a_payout_is_claimed_and_committed_before_the_call[sqlite]",
            Before(
                "payouts.sending:PayoutSender._send_ready",
                "take",
                "from sqlalchemy import select\n"
                "table = self.queue.payouts.table\n"
                "with self.queue.payouts.single.connect() as connection:\n"
                "    rows = connection.execute(select(table).where(table.c.status == 'ready')).mappings().all()\n"
                "unclaimed = [self.queue.payouts.made(row) for row in rows]\n"
                "made = self.calls.send(client, self._addressed(unclaimed, results))\n"
                "object.__setattr__(self.calls, 'send', lambda client, batch: made)",
            ),
        ),
        "a sender does not look whether its claim still holds": (
            f"{_LATE}::test_a_sender_that_sleeps_past_its_lease_makes_no_call[sqlite-bank]",
            Swap("payouts.sending:PayoutSender._send", "self.queue.renew(asked)", "asked"),
        ),
        "a result is stored although the payout has changed since it was claimed": (
            f"{_LATE}::test_a_refusal_that_comes_after_the_lease_sends_nothing_again[sqlite-429-bank]",
            Value("payouts.stored:Payouts.unmoved", '("id",)'),
        ),
        "one look-up that misses a payout is enough to send it again": (
            f"{_ONCE}::test_what_two_look_ups_a_minute_apart_have_missed_is_sent_under_its_own_reference",
            Never("payouts.results:PayoutResults.missed", "first"),
        ),
        "two look-ups that miss a payout may follow each other at once": (
            f"{_ONCE}::test_what_two_look_ups_a_minute_apart_have_missed_is_sent_under_its_own_reference",
            Value("payouts.payout_schedule:SECOND_LOOK_UP", "timedelta(0)"),
        ),
        "a look-up that fails counts as one that misses": (
            f"{_ONCE}::test_look_ups_that_fail_prove_nothing",
            Swap(
                "payouts.following:Following.look_up",
                'results.unread(payout, f"it could not be looked up: {error_text(error)}")',
                "results.missed(payout, began, began)",
            ),
        ),
        "what was missed is sent again under a new reference": (
            f"{_ONCE}::test_what_two_look_ups_a_minute_apart_have_missed_is_sent_under_its_own_reference",
            Swap(
                "payouts.results:PayoutResults.missed",
                "PayoutMove(PayoutEvidence.MISSED, problem=payout.problem)",
                "PayoutMove(PayoutEvidence.MISSED, {'service_reference': payout.service_reference + '-2'})",
            ),
        ),
        "a token is sent again when its answer was lost": (
            f"{_ONCE}::test_a_lost_answer_or_one_that_cannot_be_read_is_looked_up_and_a_token_is_unknown[0]",
            Swap(
                "payouts.following:Following.look_up",
                "results.in_doubt(payout, payout.problem or _IN_DOUBT)",
                "results.not_carried_out(payout, payout.problem)",
            ),
        ),
        "a token whose sender died is sent again": (
            f"{_LATE}::test_a_sender_that_sleeps_past_its_lease_makes_no_call[sqlite-token]",
            Swap(
                "payouts.following:Following.look_up",
                "results.in_doubt(payout, payout.problem or _IN_DOUBT)",
                "results.not_carried_out(payout, payout.problem)",
            ),
            Swap("payouts.sending:PayoutSender._send", "self.queue.renew(asked)", "asked"),
        ),
        "a move of a payout stores two events": (
            f"{_ONCE}::test_of_each_move_one_event_is_stored[bank]",
            Before(
                "payouts.stored:PayoutMoves.move_in",
                "store",
                "self.events.store(connection, shop, NewEvent(signal, f'again:{row[\"changes\"]}', '', '',"
                " payout.reference), self.payouts, row, now)",
            ),
        ),
    },
    "Refunds are never more than what arrived, go where the approver saw them going, and tell no account number.": {
        "the sum of refunds is compared outside the lock": (
            f"{_REFUNDS}::test_refunds_at_once_are_together_never_more_than_what_arrived[sqlite]",
            Swap(
                "payouts.paybacks:RefundLimits.lock",
                "locked(connection, self.table, checkout_id)",
                "connection.execute(select(self.table).filter_by(checkout_id=checkout_id)).mappings().one()",
            ),
        ),
        "an approval binds nothing": (
            "payouts/test_decisions.py::test_an_approval_is_of_the_destination_that_the_person_saw",
            Never("payouts.decisions:PayoutDecisions._decide", "seen"),
        ),
        "a held payment that was refunded can still be accepted": (
            f"{_REFUNDS}::test_a_held_payment_is_rejected_by_its_refund_in_part_too[sqlite]",
            Drop("payouts.requests:PayoutRequests.refund", "_reject_held"),
        ),
        "a failed refund keeps its money from others": (
            f"{_REFUNDS}::test_a_cancelled_refund_leaves_room_and_a_retry_asks_for_it_again",
            Swap("payouts.stored:PayoutMoves._count_refund", "before != after", "after > before"),
        ),
        "the account number stays when the bank has completed": (
            "payouts/test_following.py::test_a_bank_transfer_is_followed_to_its_end[sqlite-completed]",
            Value("payouts.payout_states:WIPING", "frozenset({PayoutStatus.CANCELLED})"),
        ),
        "where a payout goes is logged when it is sent": (
            f"{_ONCE}::test_no_account_number_is_logged_or_told_when_the_service_repeats_it",
            Before(
                "payouts.sending:PayoutSender._send",
                "send",
                "__import__('logging').getLogger().info('%s', [one.to_details for one in taken])",
            ),
        ),
    },
    "An audit names every difference between the shop and the service, and nothing else.": {
        "money that arrived and pays nothing here agrees": (
            f"{_AUDIT}::test_money_that_arrived_and_pays_nothing_here_is_named_with_the_way_to_find_it",
            Swap("books.audit.comparing:judge_deposit", "status_of(deposit) == COMPLETED", "row.status in _SETTLED"),
        ),
        "what moves while it is read is named": (
            f"{_AUDIT}::test_a_row_that_moves_between_the_two_reads_is_read_again_before_it_is_named",
            Swap("books.audit.rechecks:Recheck.certain", "range(_MOST_LOOKS)", "range(0)"),
        ),
        "what was paid past the shop is not named": (
            f"{_AUDIT}::test_what_was_paid_past_the_shop_is_missing_here",
            Drop("books.audit.audit:Audit._compare", "append"),
        ),
        "a difference of a cent agrees": (
            f"{_ALONE}[sqlite-a payment's booking changed by a cent]",
            Swap("books.audit.books:_bear_out_checkout", "_sums(expected) == _sums(lines)", "True"),
        ),
        "a transfer of a cent more agrees": (
            f"{_ALONE}[sqlite-a disbursement of another amount]",
            Swap(
                "books.audit.comparing:_is_same",
                "Decimal(one) == Decimal(other)",
                "abs(Decimal(one) - Decimal(other)) <= Decimal('0.01')",
            ),
        ),
        "a booking with another account agrees": (
            f"{_ALONE}[sqlite-a payout's booking with another account]",
            Value("books.audit.books:_AGREEING", '("subject", "currency", "received_currency")'),
        ),
        "a booking that cannot be read ends the audit": (
            f"{_ALONE}[sqlite-a booking whose amount is no number]",
            Swap("books.audit.books:_judge", "(ValueError, ArithmeticError)", "KeyError"),
        ),
        "a deleted booking is not noticed": (
            f"{_ALONE}[sqlite-a held payment's booking deleted]",
            Swap("books.audit.books:_subjects", "rows.pages(rows.paid())", "()"),
        ),
        "a deleted checkout is not noticed": (
            f"{_ALONE}[sqlite-a paid checkout deleted]",
            Swap("books.audit.books:_judge", "not lines", "True"),
        ),
    },
    "The books have each movement of money once, and a line never changes.": {
        "a payment is booked in a second transaction": (
            f"{_BOOKED}::test_a_payment_is_booked_in_the_transaction_that_pays_the_order[sqlite]",
            Before("checkouts.moves:Moves.move_in", "book", "connection.commit()"),
        ),
        "a booking of a payout is stored in a second transaction": (
            "payouts/test_answers.py::test_an_atomic_receiver_that_raises_takes_the_booking_back",
            Before("payouts.stored:PayoutMoves.move_in", "book", "connection.commit()"),
        ),
        "held money is booked as a payment": (
            f"{_BOOKED}::test_held_money_is_booked_apart_and_becomes_a_payment_when_it_is_accepted[sqlite]",
            Swap("books.ledger:booked_kind", "status == Status.PAID and pays_order", "status"),
        ),
        "an accepted second payment is booked as a payment": (
            f"{_BOOKED}::test_rejected_and_second_payments_stay_held",
            Swap("books.ledger:booked_kind", "status == Status.PAID and pays_order", "status == Status.PAID"),
        ),
        "a move that began before an arrival was noted books it again": (
            f"{_BOOKED}::test_a_settlement_that_is_overtaken_by_a_noted_arrival_books_the_money_once[sqlite]",
            Swap("checkouts.due_reads:DueReads.note", "checkout.revision + 1", "checkout.revision"),
        ),
        "a payout that came back is exported as money out": (
            f"{_EXPORT}::test_a_payout_that_fails_and_is_sent_again_has_a_line_for_each_way[sqlite]",
            Swap("books.ledger:_returned_payout", 'Decimal(payout["amount"])', '-Decimal(payout["amount"])'),
        ),
        "the fee of a payout is not booked": (
            f"{_BOOKS}::test_a_payout_with_its_fee[on top]",
            Swap("books.ledger:_fee_of", 'payout.get("fee") or 0', "0"),
        ),
        "a fee is booked again for an earlier try that is found after it was taken back": (
            f"{_AUDIT}::test_what_people_corrected_hours_later_is_borne_out",
            Swap("books.ledger:Bookings.book_payout", 'after["fee"] is not None', "False"),
        ),
        "a fee in another currency is taken off the net amount": (
            f"{_BOOKS}::test_a_payment_with_its_fee[a fee in another currency]",
            Swap("books.ledger:_payment_fee", "fee.currency == payment.paid.currency", "True"),
        ),
        "a text of a stranger stays a formula": (
            f"{_BOOKS}::test_no_text_cell_is_a_formula[=1+1]",
            First("text:csv_text", "return visible(text)"),
        ),
        "a later read changes what was stored of a payment": (
            f"{_EXPORT}::test_a_closed_period_exports_byte_for_byte_the_same_again[sqlite]",
            Swap("checkouts.stored:Checkouts.planned", "values.keys() & {*PAYMENT_COLUMNS}", "()"),
        ),
        "of movements of one moment the next page leaves some out": (
            f"{_EXPORT}::test_pages_lose_and_double_nothing_where_times_are_equal[sqlite]",
            Swap("books.lists:pages", "tuple_(*place) > after", "place[0] > after[0]"),
        ),
    },
    "A database that fails loses nothing, and people are told.": {
        "pages raise while the database is away": (
            f"{_AWAY}::test_customers_are_told_in_their_language_when_the_database_is_away",
            Drop("views:_make_blueprint", "register_error_handler"),
        ),
        "nobody is told that payments cannot be recorded": (
            f"{_AWAY}::test_a_full_database_loses_nothing_and_is_told_in_plain_words",
            Never("checkouts.order_status:OrderStatuses._read", "is_unavailable"),
        ),
        "connections to a read-only server are kept": (
            "databases/test_read_only.py",
            Never("database.connections:_on_error", "is_read_only"),
        ),
    },
    "Staff and customers move money only as their duties allow.": {
        "who asked for a payout approves it": (
            _TWO_PERSONS,
            Swap("payouts.decisions:PayoutDecisions.may_approve", "asked_by is None", "True"),
        ),
        "another case makes another person": (
            _TWO_PERSONS,
            Swap("payouts.decisions:_compared", "unicodedata.normalize('NFKC', drawn).casefold()", "drawn"),
        ),
        "the owner's pages ask for no ability": (
            "views/test_person.py::test_a_person_does_only_what_it_may[look]",
            Never("views.owner:_require_ability", "ability"),
        ),
        "a fault of a form shows the page to a person who may not look": (
            "views/test_person.py::test_who_may_not_look_sees_no_page_and_no_link_for_the_customer_without_refund",
            Never("views.owner_forms:owner_page", "person"),
        ),
        "a decision on a payout leaves no deed": (
            f"{_DUTIES}::test_deeds_are_recorded_through_each_door_and_survive_prune",
            Never("payouts.stored:PayoutMoves.move_in", "deed"),
        ),
        "each look of an hour is stored": (
            f"{_DUTIES}::test_a_look_is_recorded_once_an_hour_and_the_next_one_is_one_read[sqlite]",
            Swap(
                "database.deeds:record_look",
                "connection.execute(select(c.id).where(c.at >= hour, *same).limit(1)).first()",
                "None",
            ),
        ),
        "a look that cannot be recorded hides the page": (
            f"{_DUTIES}::test_a_look_that_cannot_be_recorded_hides_no_page",
            Swap("runtime:Runtime.looked", "SQLAlchemyError", "ZeroDivisionError"),
        ),
        "a receiver's deed counts as the person's whose command delivered the event": (
            f"{_DUTIES}::test_what_a_receiver_does_during_a_command_is_a_call",
            Swap("shop_functions:shop_caller", 'through("call")', "through(present_door())"),
        ),
        "a payout that nobody claims in time stays claimable": (
            f"{_DUTIES}::test_what_nobody_claims_in_time_is_cancelled_and_what_was_claimed_stays",
            Swap("payouts.sending:PayoutSender._let_time_pass", "self.queue.overdue(results.started)", "()"),
        ),
        "a page changes the destination that the shop gave": (
            f"{_DUTIES}::test_nobody_says_on_a_page_where_a_payout_goes_that_has_a_destination",
            Swap("payouts.claims:RefundClaims.find", "found.is_claimed", "True"),
        ),
        "the service keeps the recipients of a person that was erased": (
            _PERSONS_GO,
            Swap("books.erasing:Erasing._delete_recipients", "not payout.claims", "True"),
        ),
        "a history keeps what people typed": (
            _PERSONS_GO,
            Swap("books.erasing:Erasing._empty", "reduced(subject.history, _FACTS)", "subject.history"),
        ),
        "a payout exceeds the daily limit": (
            f"{_DAILY}::test_what_would_exceed_it_waits_for_the_next_day",
            Swap("payouts.payout_queue:PayoutQueue._take_within", "total <= limit", "True"),
        ),
        "each try of a payout counts against the daily limit": (
            f"{_DAILY}::test_retries_of_one_day_count_once",
            Swap("payouts.payout_queue:PayoutQueue._take_within", "payout.counted_on == mark", "False"),
        ),
        "what waits for the next day can still get another destination": (
            f"{_DAILY}::test_the_claim_page_changes_nothing_of_what_was_approved_and_waits_for_the_day",
            Swap("payouts.claims:can_be_claimed", "not payout.waits_for_day", "True"),
        ),
    },
    "Money is asked for by requests, and reminded of, only while it can be paid.": {
        "a request that has expired can be paid": (
            f"{_ENDED}[expires]",
            Swap("checkouts.requests:RequestMixin.status", "self.expires_at <= now", "False"),
        ),
        "a request that was withdrawn can be paid": (
            f"{_ENDED}[withdraws]",
            Swap("checkouts.requests:RequestMixin.status", "self.withdrawn_at is not None", "False"),
        ),
        "a request is withdrawn that is paid": (
            f"{_ASKED}::test_a_withdrawal_is_a_deed_and_is_made_once",
            Swap(
                "checkouts.requests:PaymentRequests.withdraw",
                "connection.execute(paid).first() is not None",
                "False",
            ),
        ),
        "the shop's order_total is asked for requests": (
            f"{_ASKED}::test_a_request_is_paid_like_an_order_that_the_shop_is_not_asked_for[sqlite]",
            Swap("checkouts.shop_answers:ShopAnswers.total_in", "request_of(order_id) is not None", "False"),
        ),
        "an order of the shop may have the id of a request": (
            f"{_ASKED}::test_no_order_of_the_shop_has_the_id_of_a_request",
            Swap("checkouts.requests:PaymentRequests.require_order", "reference is None", "True"),
        ),
        "title and note of a request stay when it is erased": (
            f"{_ASKED}::test_erasing_empties_title_and_note_and_the_whys_about_it",
            Swap("books.erasing:Erasing.erase", 'request.values(title="", note=None)', "select(1)"),
        ),
        "a form makes a request each time that it is sent": (
            "views/test_requests.py::test_the_owner_makes_a_request_once_for_each_form_and_withdraws_it",
            Swap("checkouts.requests:PaymentRequests.make", "reference or new_reference()", "new_reference()"),
        ),
        "an order is reminded again in each round": (
            f"{_REMINDED}::test_of_several_times_that_passed_the_last_one_counts",
            Swap("rounds.reminders:Reminders._next", "began + after > now", "True"),
            # The unique column would refuse it.
            Swap("rounds.reminders:Reminders._remind", 'f"{one.order_id}:{number}"', 'f"{one.order_id}:{id(one)}"'),
        ),
        "two hosts remind of one time": (
            "races/test_reminders.py::test_two_hosts_store_one_reminder[postgresql]",
            Swap("rounds.reminders:Reminders._move", "connection.execute(later).rowcount", "1"),
            Swap("rounds.reminders:Reminders._remind", 'f"{one.order_id}:{number}"', 'f"{one.order_id}:{id(one)}"'),
        ),
        "an order is reminded that is paid": (
            f"{_REMINDED}::test_what_cannot_or_need_not_be_paid_is_not_reminded[is_paid]",
            Swap(
                "checkouts.states:",
                "frozenset({Status.PAID, Status.HELD, Status.PENDING})",
                "frozenset()",
            ),
        ),
        "an order is reminded that cannot be paid": (
            f"{_REMINDED}::test_what_cannot_or_need_not_be_paid_is_not_reminded[is_not_wanted]",
            Swap(
                "checkouts.shop_answers:ShopAnswers.is_payable_in",
                "self.total_in(transaction, order_id) is not None",
                "True",
            ),
        ),
        "a reminder is delivered after the payment": (
            f"{_REMINDED}::test_a_reminder_that_is_no_longer_true_is_superseded[is_paid]",
            Swap(
                "checkouts.superseding:OrderSuperseding.has_happened_to",
                "(_ABANDONED, _PENDING, _REMINDER)",
                "(_ABANDONED, _PENDING)",
            ),
        ),
        "a reminder is delivered of what the shop wants no payment for any more": (
            f"{_REMINDED}::test_a_reminder_that_is_no_longer_true_is_superseded[is_not_wanted]",
            Swap("events.receiver_runs:ReceiverRuns._run_receivers", "self._is_unwanted(event)", "False"),
        ),
    },
    "parts": {
        "a part pays the order": (
            f"{_PARTS}::test_parts_pay_an_order_once_they_reach_its_total[sqlite]",
            Swap(
                "checkouts.ruling:rule_on_part",
                "Evidence.DEPOSIT_AGREES if excess == 0 else Evidence.DEPOSIT_IS_PART",
                "Evidence.DEPOSIT_AGREES",
            ),
        ),
        "more than what is left is a part": (
            f"{_PARTS}::test_what_arrives_is_a_part_unless_nothing_or_too_much_is_left[sqlite-100.01-held-created]",
            Swap("checkouts.ruling:rule_on_part", "excess <= 0 and is_exact(arrived)", "is_exact(arrived)"),
        ),
        "an amount that no currency has is a part": (
            f"{_PARTS}::test_an_amount_that_no_currency_has_is_no_part[sqlite-60.001]",
            Swap("checkouts.ruling:rule_on_part", "excess <= 0 and is_exact(arrived)", "excess <= 0"),
        ),
        "a refund of a part is not counted": (
            f"{_PARTS}::test_a_refund_of_a_part_makes_more_be_left[sqlite]",
            Swap(
                "checkouts.stored:Checkouts.balance",
                "EXACT.subtract(arrived.amount, Decimal(row.refunded_amount or 0))",
                "arrived.amount",
            ),
        ),
        "a payment of a paid order with parts is another part": (
            f"{_PARTS}::test_a_payment_after_the_last_part_is_a_duplicate[sqlite]",
            Swap(
                "checkouts.shop_answers:OrderTotals.rule", "Reason.DUPLICATE if balance.is_paid else reason", "reason"
            ),
        ),
        "a total that falls to what was paid is forgotten": (
            f"{_PARTS}::test_a_total_that_falls_to_what_was_paid_pays_the_order[sqlite-reconcile]",
            First("checkouts.part_payments:PartPayments.complete_due", "return"),
        ),
        "an order is paid before its parts reach the total": (
            f"{_PARTS}::test_a_cancelled_refund_may_reach_the_total[sqlite]",
            Swap("checkouts.part_payments:PartPayments.complete", "excess < 0", "False"),
        ),
        "a receiver that keeps parts from paying is named nowhere": (
            f"{_PARTS}::test_a_receiver_that_fails_breaks_no_page_and_no_settlement_of_a_part[sqlite]",
            Swap("checkouts.part_payments:PartPayments._look_again", "{} if paid else failure", "{}"),
        ),
        "an excess is not told": (
            f"{_PARTS}::test_an_excess_is_told_and_listed_until_it_is_refunded[sqlite]",
            Swap("checkouts.moves:Moves.move_in", "move.reason == Reason.EXCESS", "False"),
        ),
        "a refund of an earlier part leaves the excess": (
            f"{_PARTS}::test_an_excess_is_told_and_listed_until_it_is_refunded[sqlite]",
            Drop("payouts.paybacks:RefundLimits.take", "_change_excess"),
        ),
        "a person accepts more than what is left": (
            f"{_PARTS}::test_a_person_accepts_a_part[sqlite]",
            Swap(
                "checkouts.decisions:Resolutions._accepted",
                "excess > 0 and not refund_excess and (as_part or not balance.is_paid)",
                "False",
            ),
        ),
        "an excess is accepted without its refund": (
            f"{_PARTS}::test_what_came_too_much_for_an_order_without_parts[sqlite-given back]",
            Drop("checkouts.moves:Moves.move_in", "then"),
        ),
        "the next page asks for the whole total": (
            f"{_PARTS}::test_parts_pay_an_order_once_they_reach_its_total[sqlite]",
            Swap("checkouts.ruling:Balance.due", "EXACT.minus(excess)", "total.amount"),
        ),
    },
}
