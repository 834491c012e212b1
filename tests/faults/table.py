"""Every planted fault: what it does, a test that notices, and the syntax that it changes."""

from __future__ import annotations

from tests.faults.planting import Before, Drop, Edit, First, Never, Swap, Value

#: The test that notices a fault, below `tests/` and with its parameters where one case is enough; then the edits.
Planted = tuple[str, *tuple[Edit, ...]]

_ACCOUNTS = "accounts/test_orders.py"
_PEOPLE = "accounts/test_people.py"
_ROUNDS = "checkouts/test_due_reading.py::test_an_account_that_fails_costs_the_others_less_than_a_tenth"
_SANDBOX_ACCOUNTS = "sandbox/control/test_accounts.py"
_WORLDS = "sandbox/control/test_worlds.py"
_ANSWERS, _IDS = "hostile/test_answers.py", "hostile/test_ids.py"
_CARTS = "races/test_changed_carts.py::test_a_cart_that_changes_while_it_is_settled"
_COMPARED = "checkouts/test_matching.py::test_each_comparison_names_what_differs"
_EVERY = "security/test_every_answer.py::test_every_kind_of_answer_is_hardened"
_OUTBOX, _ORDER = "events/test_outbox.py", "events/test_event_order.py"
_REFUSING = "events/test_atomic.py::test_nothing_is_committed_when_an_atomic_receiver_raises"
_SANDBOX, _FOREIGN = "hostile/test_sandbox.py", "hostile/test_foreign_pages.py"
_HEADLESS = "views/test_headless.py"
_ONE_ANSWER, _SETTLEMENT = "security/test_one_answer.py", "checkouts/test_settlement.py"
_SITE = "security/test_same_site.py"
_TOKENS, _URLS, _HOSTS = "security/test_tokens.py", "security/test_payment_urls.py", "security/test_hosts.py"
_BROKEN = "events/test_broken_transactions.py::test_it_has_failed_and_runs_again_under_the_same_event_id"
_SAVEPOINT = "events/test_broken_transactions.py::test_what_a_savepoint_or_a_query_writes_goes_back_with_its_receiver"
_KINDS = "events/test_kinds_of_functions.py"
_TROUBLE = "books/test_alarms.py::test_each_trouble_is_named_within_five_minutes"
_START = "checkouts/test_start.py"
_WEBHOOK, _OWNER = "views/test_webhook.py", "views/test_owner.py"
_HINTS = "checkouts/test_webhooks.py"
_AWAY = "views/test_database_away.py"
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
        "a page of another client id is used again": (
            "checkouts/test_client_ids.py::test_a_page_of_another_client_id_is_not_used_again",
            Swap(
                "checkouts.start:Starter._usable",
                "current.client_id != self.service.accounts.client_of(asked.account, CREATE).client_id",
                "False",
            ),
        ),
        "webhooks about no checkout make payouts due as often as they come": (
            "payouts/test_hints.py::test_webhooks_hurry_a_bounded_number_of_reads_a_minute_and_call_nobody[sqlite]",
            Swap("payouts.stored:Payouts.receive_hint", 'self._hinted_lately.begin("", now)', "True"),
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
        "what another client id does not find counts as evidence": (
            "checkouts/test_client_ids.py",
            Swap("checkouts.deposits:read_deposit", "read_with != made_with", "False"),
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
            Drop("checkouts.moves:Moves.move", "lock_writer"),
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
        "a checkout whose money comes while it is pruned is removed": (
            f"{_PRUNING}::test_money_that_comes_between_count_and_removal_is_kept[sqlite]",
            Swap(
                "books.pruning:Pruning._removed",
                "removal.where(table.c.id.in_(free))",
                "(table.delete() if removal.is_delete else removal).where(table.c.id.in_(free))",
            ),
        ),
        "the event is stored in a second transaction": (
            "checkouts/test_checkouts.py::test_a_move_whose_event_cannot_be_stored_does_not_happen[sqlite]",
            Before("checkouts.moves:Moves.move_in", "_store_event", "connection.commit()"),
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
    },
    "Receivers run once, in order, and their effects are committed with the mark.": {
        "an event counts as delivered before its receivers were called": (
            f"{_OUTBOX}::test_only_the_receiver_that_failed_runs_again",
            Before(
                "events.receiver_runs:ReceiverRuns._run_receivers",
                "runnable_receivers",
                "self.queue.finish(event, delivered_at=self.parts.clock())",
            ),
        ),
        "a move is committed although its atomic receiver raised": (
            f"{_REFUSING}[sqlite]",
            Drop("events.shop_transaction:ShopTransaction.run", "ReceiverFailed"),
        ),
        "an atomic receiver may commit": (
            f"{_BROKEN}[sqlite-atomic]",
            Swap("database.open_transactions:refuse_commit", "session.info.get(_IN_CALLBACK)", "False"),
            Swap("database.open_transactions:_on_commit", "session.info.get(_IN_CALLBACK)", "False"),
            Swap("database.open_transactions:_on_statement", "session.info.get(_IN_CALLBACK)", "False"),
        ),
        "a payment that nobody hears of counts as delivered": (
            "events/test_signals.py::test_a_payment_that_nobody_hears_of_waits_for_a_process_that_listens",
            Swap("events.events:new_event", "told and not unheard and not runs", "told and not runs"),
            Swap("events.events:new_event", "told or unheard", "told"),
        ),
        "the order of events is ignored": (
            f"{_ORDER}::test_a_receiver_that_missed_an_event_hears_it_before_the_next_one",
            Never("events.receiver_runs:ReceiverRuns.runnable_receivers", "waited_for"),
        ),
        "an event is not looked at again when its receiver is marked": (
            f"{_ORDER}::test_what_is_overtaken_while_its_receiver_works_is_not_committed",
            Never("events.receiver_runs:ReceiverRuns._run_one", "overtaken"),
        ),
        "a lease is never renewed": (
            "events/test_leases.py::test_nobody_takes_an_event_from_a_receiver_that_works_longer_than_the_lease",
            First("events.receiver_runs:ReceiverRuns.kept", "return nullcontext()"),
        ),
        "a receiver may end the process that delivers": (
            f"{_OUTBOX}::test_a_receiver_that_wants_to_end_the_process_fails_like_any_other",
            Swap("events.receiver_runs:ReceiverRuns._run_receivers", "BaseException", "Exception"),
        ),
        "the transaction of a move is not proved before its commit": (
            f"{_BROKEN}[postgresql-atomic]",
            First("events.shop_transaction:ShopTransaction._require_whole", "return"),
            Swap("events.shop_transaction:ShopTransaction.run", "mark()", "True"),
            Swap("database.open_transactions:_on_commit", "_begun_on(connection, session)", "[]"),
        ),
        "a receiver may roll its own transaction back": (
            f"{_BROKEN}[sqlite-plain]",
            First("events.shop_transaction:ShopTransaction._require_whole", "return"),
        ),
        "what stands in a savepoint is committed at once": (
            f"{_SAVEPOINT}[sqlite-plain-in_a_savepoint]",
            Swap("database.open_transactions:_on_statement", "_UNBEGUN.match(statement)", "None"),
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
    },
    "Alarms tell the truth, and a failing service is left alone.": {
        "a circuit breaker that never closes": (
            "service/test_breaker.py::test_after_five_seconds_one_probe_may_go_and_its_answer_closes_it",
            Swap(
                "service.limits:Breaker.answered",
                "circuits.pop(call.circuit, _Circuit())",
                "circuits.get(call.circuit, _Circuit())",
            ),
        ),
        "all operations of an account share one circuit": (
            f"{_CALLS}::test_reads_that_fail_stop_no_starts_and_starts_that_fail_no_reads",
            Swap("service.limits:Call.circuit", "self.operation", "''"),
        ),
        "an account may take every slot": (
            f"{_CALLS}::test_an_account_has_less_than_half_of_the_slots_and_seldom_calls_a_third",
            Never("service.limits:ConcurrencyLimit._has_room", "several_accounts"),
        ),
        "any number of requests waits for slow calls": (
            f"{_CALLS}::test_while_calls_are_slow_few_requests_wait_for_that_operation_and_status_pages_sooner",
            Swap("service.limits:ConcurrencyLimit._has_room", "self._slow_with(taken, call, slow_after)", "[]"),
        ),
        "a claim that was not carried out costs a use of its link": (
            f"{_CLAIMS}::test_claims_that_the_service_refuses_have_a_cool_down_and_stop_no_customer_who_pays[400-422]",
            Never("payouts.claims:RefundClaims._make_recipient", "carried_out"),
        ),
        "the report judges by the next read, which whoever tries in vain puts off": (
            f"{_TROUBLE}[some deposits fail]",
            Swap(
                "books.payment_alarms:unread_payments",
                "c.problem_since <= look.now - PATIENCE",
                "c.next_read_at <= look.now - PATIENCE",
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
        "only a start that succeeds ends the alarm that nobody can start a payment": (
            f"{_PEOPLE}::test_a_read_that_is_answered_ends_the_alarm_that_nobody_can_start_a_payment",
            Swap("books.payment_alarms:_failing_since", "answered_at > last", "False"),
        ),
        "starts that nobody tries again stay an alarm for ever": (
            f"{_PEOPLE}::test_starts_that_nobody_tries_again_are_a_note_after_an_hour",
            Swap("books.payment_alarms:_alarm_of", "last <= look.now - UNTRIED", "False"),
        ),
        "one outage is an alarm for each thing that waits in it": (
            "books/test_report.py::test_reads_that_fail_for_minutes_are_told_though_none_is_overdue[sqlite]",
            Swap("books.alarms:waiting", "~note", "True"),
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
        "a webhook whose read moved nothing is not stored": (
            f"{_HINTS}::test_a_webhook_whose_read_somebody_else_forestalls_is_counted",
            Swap("checkouts.webhooks:Webhooks._read", "cause.webhook_at", "None"),
        ),
        "the webhook's secret is not compared": (
            f"{_ONE_ANSWER}::test_every_wrong_webhook_secret_gets_one_answer_and_none_tells_that_there_is_a_secret",
            Never("views.webhook:webhook", "is_one_of"),
        ),
    },
    "One cheap request that causes many expensive ones: unknown ids end in our own table, reads have cool-downs.": {
        "webhooks of one process have no cool-down of their own": (
            f"{_HINTS}::test_while_no_result_can_be_stored_webhooks_cost_one_read_per_cool_down",
            Swap("checkouts.webhooks:Webhooks._may_read", "lately.begin(checkout.checkout_id, now)", "True"),
        ),
        "the cool-down that another process has stored is not kept": (
            f"{_HINTS}::test_webhooks_of_two_processes_that_read_at_once_both_count",
            Swap("checkouts.webhooks:Webhooks._may_read", "stored <= now - lately.length", "True"),
        ),
        "a read that reconcile makes for a webhook is not the webhook's": (
            f"{_HINTS}::test_webhooks_and_reconcile_together_read_once_per_cool_down",
            Swap(
                "checkouts.stored:Checkouts._claim_reads", "case(hinted, else_=c.webhook_read_at)", "c.webhook_read_at"
            ),
        ),
        "webhooks of one checkout read side by side": (
            "service/test_single_flight.py::test_webhooks_pile_up_no_reads_while_the_service_is_slow",
            Swap("checkouts.webhooks:Webhooks.receive", "free", "True"),
        ),
        "status pages have no cool-down": (
            "views/test_order.py::test_visits_share_one_read_in_a_cool_down[created-5]",
            Value("checkouts.order_status:_PAGE_COOLDOWN", "timedelta(0)"),
        ),
        "a visit reads all attempts of an order": (
            "test_bounds.py::test_a_visit_reads_three_attempts_at_most_and_asks_the_database_little[sqlite-100-JSON]",
            Swap("checkouts.order_status:OrderStatuses.of", "stored.newest[:NEWEST]", "stored.newest"),
            Swap("checkouts.stored:Checkouts._select_newest", "NEWEST + 1", "10**9"),
        ),
        "a session in which the shop is asked waits for locks for ever": (
            "database/test_own_session.py::test_order_total_waits_for_locks_no_longer_than_ten_seconds[of_app_context]",
            Drop("database.open_transactions:guard", "limit_lock_waits"),
        ),
        "starts of one order go side by side": (
            "test_bounds.py::test_sixteen_starts_of_one_order_make_one_checkout",
            Swap("checkouts.start:Starter._start", "self._starting.join(order_id)", "self._starting.join(object())"),
        ),
    },
    "A token that is forged, altered, too old or made for something else: sealed, with a key for each purpose.": {
        "an order id can be read out of a link": (
            f"{_TOKENS}::test_nobody_reads_an_order_id_out_of_a_token",
            First(
                "security.signed_links:SignedLinks.sign",
                "return str(URLSafeTimedSerializer(self._good_keys()[-1], salt=purpose).dumps(subject))",
            ),
        ),
        "all purposes share a key": (
            f"{_TOKENS}::test_no_token_is_good_for_another_purpose",
            Swap("security.signed_links:_fernet", "purpose.encode()", 'b"paycheckout"'),
        ),
        "a token never ends": (
            f"{_TOKENS}::test_a_token_is_good_for_its_time_and_for_clocks_that_differ_by_seconds",
            Swap("security.signed_links:SignedLinks.open", "self.max_age", "timedelta.max"),
        ),
        "an empty key seals": (
            f"{_TOKENS}::test_no_key_that_can_be_guessed_is_taken",
            Swap(
                "security.signed_links:SignedLinks._good_keys",
                "[key for key in self.keys() if key]",
                "[key for key in self.keys() if key is not None]",
            ),
        ),
        "forms need no signature": (
            f"{_TOKENS}::test_a_spoiled_token_opens_nothing[signed]",
            Swap(
                "security.signed_links:SignedLinks._open_form",
                "self._signer(purpose).loads(token, return_timestamp=True)",
                "(self._signer(purpose).loads_unsafe(token)[1], self.clock())",
            ),
        ),
    },
    "Reading other people's orders: one answer to each bad link, nothing cached or told on, no amount or id shown.": {
        "answers may be cached": (f"{_EVERY}[200 page]", Swap("views.headers:harden", '"no-store"', '"private"')),
        "the next site is told of the link": (
            f"{_EVERY}[200 page]",
            Swap("views.headers:harden", '"Referrer-Policy"', '"X-Referrer-Policy"'),
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
            f"{_ONE_ANSWER}::test_every_bad_token_gets_the_same_bytes_and_nothing_is_looked_up[status JSON]",
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
        "every origin may read the answers": (
            f"{_HEADLESS}::test_json_opens_nothing_to_another_site[another origin]",
            Swap("views.headers:allow_origins", "origin in origins", "True"),
        ),
        "a page of any origin counts as a program": (
            f"{_HEADLESS}::test_json_opens_nothing_to_another_site[a sandboxed frame]",
            Swap("views.headers:may_use_links", "origin is None", "origin in (None, 'null')"),
        ),
        "a host that makes no sense is trusted": (
            f"{_SITE}::test_no_host_header_makes_another_site_the_shops_own[by its public address]",
            Swap("views.headers:_own_origins", "set()", '{f"{request.scheme}://{request.host}"}'),
        ),
        "Flask-WTF guards nothing any more": (
            "security/test_flask_wtf.py::test_the_shops_own_posts_are_guarded_as_before[/own-csrf first]",
            Before("views.headers:exempt_from_csrf.exempt", "exempt", 'app.config["WTF_CSRF_ENABLED"] = False'),
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
        "a URL that was stored is not looked at again": (
            f"{_URLS}::test_a_url_that_was_allowed_and_is_not_any_more_sends_nobody_there",
            Drop("checkouts.start:Starter._usable", "require_allowed"),
        ),
        "odd characters are taken": (
            f"{_URLS}::test_no_trick_leads_away_from_the_listed_origin",
            Value("security.origins:_NOT_IN_URLS", "re.compile(r'[\\\\\"<>]')"),
        ),
        "the public address is not used within a request": (
            f"{_HOSTS}::test_addresses_never_come_from_a_host_that_nobody_vouched_for[public address]",
            Never("views.order_urls:_absolute", "public_url"),
        ),
    },
    "Markup from outside, and our pages inside a stranger's: everything is escaped, under a strict policy.": {
        "the button's label is markup": (
            "security/test_markup.py::test_no_field_adds_an_element_or_attribute_to_a_page[0]",
            First("views.order:paycheckout_button", "label = label and Markup(label)"),
        ),
        "pages may be framed": (
            f"{_EVERY}[200 page]",
            Swap("views.headers:harden", "_page_policy()", "_page_policy().replace('frame-ancestors', 'x')"),
        ),
        "scripts that are not ours run": (
            f"{_EVERY}[200 page]",
            Swap(
                "views.headers:harden",
                "_page_policy()",
                """_page_policy().replace("script-src", "script-src 'unsafe-inline'")""",
            ),
        ),
        "types are sniffed": (
            "security/test_every_answer.py::test_our_static_files_are_not_sniffed",
            Swap("views.headers:harden", '"nosniff"', '"sniff"'),
        ),
    },
    "Words of strangers that steer a terminal or hide a payment: control characters are escaped.": {
        "control characters are printed": (
            "security/test_terminals.py::test_no_command_prints_what_a_terminal_would_obey[show o-1]",
            Swap("text:visible", "char.isprintable()", "True"),
        ),
    },
    "A stranger on the owner's pages, or one who decides in the owner's name: a permission before every answer.": {
        "nobody asks who looks": (
            f"{_OWNER}::test_whom_the_shop_does_not_name_sees_nothing",
            Drop("views.owner:make_owner_view", "_require_permission"),
        ),
        "another site decides": (
            f"{_OWNER}::test_another_sites_form_decides_nothing",
            Drop("views.owner:_require_permission", "require_same_site"),
        ),
        "a form is good for everybody": (
            f"{_OWNER}::test_a_form_is_good_for_the_person_it_was_made_for_only",
            Swap("views.owner_forms:subject_of_form", "who != person().name", "False"),
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
        "an id's slashes are not quoted": (
            f"{_IDS}::test_a_hostile_id_is_one_segment",
            Swap("client.operations:segment", 'quote(value, safe="")', "quote(value)"),
        ),
        "a body has no cap": (
            f"{_ANSWERS}::test_an_endless_answer_is_cut_off_in_time_and_in_flat_memory[until-close]",
            Never("client.transport:Body.add", "max_bytes"),
        ),
        "each read has a deadline of its own": (
            f"{_ANSWERS}::test_a_dripping_answer_ends_with_the_budget[blocking-one-header]",
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
    },
    "Accounts of one sandbox see nothing of each other.": {
        "a deposit is read by everybody": (
            f"{_SANDBOX_ACCOUNTS}::test_what_one_account_made_is_unknown_to_another_both_ways[sqlite-deposits]",
            Swap("sandbox.deposits.transitions:find_deposit", "deposit.user_id == user_id", "True"),
        ),
    },
    "Worlds of one sandbox see nothing of each other.": {
        "pages of a world are open on this machine": (
            f"{_WORLDS}::test_a_token_opens_its_own_world_only",
            Swap("sandbox.wire.callers:check_password", "is_local() and not name", "is_local()"),
        ),
        "a name is not looked at": (
            f"{_WORLDS}::test_a_name_that_could_be_something_else_is_refused[..]",
            Swap("sandbox.wire.field_types:Matching.read", "re.fullmatch(self.pattern, value)", "True"),
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
        "the inspector's forms need no token": (
            f"{_SANDBOX}::test_no_lever_of_the_inspector_moves_for_another_page[no-word-of-where-from]",
            Swap(
                "sandbox.wire.callers:check_form",
                'hmac.compare_digest(request.form.get("token", "").encode(), form_token(of).encode())',
                "True",
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
            "test_config.py::test_this_machine_is_refused_in_production_in_any_spelling",
            Never("config:require_real_service", "reaches_this_machine"),
        ),
    },
    "Nothing is paid out twice: a lost answer is looked up, whole, before anything is sent again.": {
        "a payout is looked up on one page only": (
            "client/test_find.py::test_payouts_on_every_page_are_found[paged]",
            Swap(
                "client.resources.fiat_disbursements:FiatDisbursements._search",
                "_MOST_PAGES",
                "1",
            ),
        ),
        "a lost answer passes for a call that was not carried out": (
            "client/test_errors.py::test_a_call_says_whether_it_may_have_been_carried_out[fiat-hung-up]",
            Swap("client.errors:PaymentsError.__init__", '"unknown"', '"no"'),
        ),
    },
    "A refund goes only where the customer said and the approver saw, and the customer's link gives nothing else.": {
        "a claim is counted after the call": (
            f"{_CLAIMS}::test_a_bank_account_becomes_a_recipient_of_the_service_and_no_number_is_stored[sqlite]",
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
        "a claim does not count as a change of the destination": (
            f"{_CLAIMS}::test_the_customer_may_correct_it_until_a_person_approves_what_they_saw",
            Swap("payouts.claims:RefundClaims.claim", "payout.revision + 1", "payout.revision"),
        ),
        "a claim goes on after a decision": (
            f"{_CLAIMS}::test_a_claim_that_a_decision_overtakes_changes_nothing_and_says_so",
            Never("payouts.claims:RefundClaims._require_claimable", "can_be_claimed"),
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
            Swap("views.refund:_fields", "name == ACCOUNT_NUMBER", "False"),
        ),
        "the shop's own destination is shown to whoever has the link": (
            f"{_REFUND}::test_only_what_the_customer_said_is_shown_of_the_destination",
            Never("views.refund_text:_shown_destination", "revision"),
        ),
        "a payout that is no refund has a page": (
            f"{_REFUND}::test_every_bad_link_gets_the_answer_of_the_other_pages_and_changes_nothing",
            Swap("payouts.claims:RefundClaims.find", "found.kind == PayoutKind.REFUND", "True"),
        ),
        "another site's form says where a refund goes": (
            f"{_HEADLESS}::test_json_opens_nothing_to_another_site[another origin]",
            Swap("views.refund:refund", "not may_use_links()", "False"),
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
            f"{_ACCOUNTS}::test_an_account_without_keys_never_uses_those_of_the_settings_and_stops_no_other[empty]",
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
        "an account that is gone falls back to the keys of the settings": (
            f"{_ACCOUNTS}::test_an_account_without_keys_never_uses_those_of_the_settings_and_stops_no_other[gone]",
            Swap("service.accounts:Accounts.client_of", 'name == ""', "name == '' or self.ask(name) is None"),
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
        "all accounts share one circuit breaker": (
            f"{_ACCOUNTS}::test_a_service_that_fails_for_one_account_is_still_asked_for_the_others",
            Swap("service.limits:Call.circuit", "self.account", "''"),
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
        "a look-up ends at a payout that the service may have had later": (
            f"{_TRIES}::test_no_clock_of_the_service_hides_a_payout_from_its_look_up[-2]",
            Value("payouts.payout_schedule:CLOCKS_DIFFER", "-timedelta(days=1)"),
            Value("client.resources.fiat_disbursements:_LOOK_BACK", "timedelta(0)"),
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
            "payouts/test_decisions.py::test_a_persons_not_sent_holds_when_the_keys_that_sent_it_are_gone",
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
        "a database error in one step of a round of payouts ends the round": (
            "payouts/test_sending.py::test_a_database_error_in_one_step_of_a_round_stops_no_other_step",
            First("payouts.sending:PayoutSender._try", "return step(results)"),
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
            Swap("payouts.payout_moves:PayoutMoves._count_refund", "payout.exact_counts", "payout.exact_amount"),
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
            Swap("payouts.stored:Payouts._take_within", "payout.amount", "payout.counts"),
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
                "table = self.payouts.table\n"
                "with self.payouts.single.connect() as connection:\n"
                "    rows = connection.execute(select(table).where(table.c.status == 'ready')).mappings().all()\n"
                "unclaimed = [self.payouts.made(row) for row in rows]\n"
                "made = self.calls.send(client, unclaimed)\n"
                "object.__setattr__(self.calls, 'send', lambda client, batch: made)",
            ),
        ),
        "a sender does not look whether its claim still holds": (
            f"{_LATE}::test_a_sender_that_sleeps_past_its_lease_makes_no_call[sqlite-bank]",
            Swap("payouts.sending:PayoutSender._send", "self.payouts.renew(asked)", "asked"),
        ),
        "a result is stored although the payout has changed since it was claimed": (
            f"{_LATE}::test_a_refusal_that_comes_after_the_lease_sends_nothing_again[sqlite-429-bank]",
            Value("payouts.stored:Payouts.unmoved", '("id",)'),
        ),
        "one look-up that misses a payout is enough to send it again": (
            f"{_ONCE}::test_what_two_look_ups_a_minute_apart_have_missed_is_sent_under_its_own_reference",
            Never("payouts.results:PayoutResults.missed", "first"),
        ),
        "a look-up that fails counts as one that misses": (
            f"{_ONCE}::test_look_ups_that_fail_prove_nothing",
            Swap(
                "payouts.following:Following.look_up",
                "results.unread(payout, problem)",
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
            Swap("payouts.sending:PayoutSender._send", "self.payouts.renew(asked)", "asked"),
        ),
        "a move of a payout stores two events": (
            f"{_ONCE}::test_of_each_move_one_event_is_stored",
            Before(
                "payouts.payout_moves:PayoutMoves.move_in",
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
                "locked(connection, self.models.checkouts, checkout_id)",
                "connection.execute(select(self.models.checkouts).filter_by(checkout_id=checkout_id)).mappings().one()",
            ),
        ),
        "an approval binds nothing": (
            f"{_CLAIMS}::test_the_customer_may_correct_it_until_a_person_approves_what_they_saw",
            Swap("payouts.decisions:PayoutDecisions._decide", "seen not in (None, payout.revision)", "False"),
        ),
        "a held payment that was refunded can still be accepted": (
            f"{_REFUNDS}::test_a_held_payment_is_rejected_by_its_refund_in_part_too[sqlite]",
            Drop("payouts.requests:PayoutRequests.refund", "_reject_held"),
        ),
        "a failed refund keeps its money from others": (
            f"{_REFUNDS}::test_a_cancelled_refund_leaves_room_and_a_retry_asks_for_it_again",
            Swap("payouts.payout_moves:PayoutMoves._count_refund", "before != after", "after > before"),
        ),
        "the account number stays when the bank has completed": (
            "payouts/test_following.py::test_a_bank_transfer_is_followed_to_its_end[sqlite-completed]",
            Value("payouts.payout_states:WIPING", "frozenset({PayoutStatus.CANCELLED})"),
        ),
    },
    "An audit names every difference between the shop and the service, and nothing else.": {
        "money that arrived and pays nothing here agrees": (
            f"{_AUDIT}::test_money_that_arrived_and_pays_nothing_here_is_named_with_the_way_to_find_it",
            Swap("books.audit.comparing:judge_deposit", "status_of(deposit) == COMPLETED", "row.status not in OPEN"),
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
    },
    "The books have each movement of money once, and a line never changes.": {
        "a payment is booked in a second transaction": (
            f"{_BOOKED}::test_money_that_could_not_be_applied_is_held_until_it_is[sqlite]",
            Before("checkouts.moves:Moves.move_in", "book", "connection.commit()"),
        ),
        "a booking of a payout is stored in a second transaction": (
            "payouts/test_answers.py::test_an_atomic_receiver_that_raises_takes_the_booking_back",
            Before("payouts.payout_moves:PayoutMoves.move_in", "book", "connection.commit()"),
        ),
        "held money is booked as a payment": (
            f"{_BOOKED}::test_held_money_is_booked_apart_and_becomes_a_payment_when_it_is_accepted[sqlite]",
            Swap("books.ledger:booked_kind", "status == Status.PAID and pays_order", "status"),
        ),
        "a move that began before an arrival was noted books it again": (
            f"{_BOOKED}::test_a_settlement_that_is_overtaken_by_a_noted_arrival_books_the_money_once[sqlite]",
            Swap("checkouts.stored:Checkouts.note", "checkout.revision + 1", "checkout.revision"),
        ),
        "a payout that came back is exported as money out": (
            f"{_EXPORT}::test_a_payout_that_fails_and_is_sent_again_has_a_line_for_each_way[sqlite]",
            Swap("books.ledger:_returned", "opposite(line)", "line"),
        ),
        "the fee of a payout is not booked": (
            f"{_BOOKS}::test_a_movement_with_its_fee[a fee on top of a payout]",
            Swap("books.ledger:_fee_of", 'payout["fee"] or 0', "0"),
        ),
        "a fee is booked again for an earlier try that is found after it was taken back": (
            f"{_AUDIT}::test_what_people_corrected_hours_later_is_borne_out",
            Swap("books.ledger:Bookings.book_payout", 'after["fee"] is not None', "False"),
        ),
        "a fee in another currency is taken off the net amount": (
            f"{_BOOKS}::test_a_movement_with_its_fee[a fee in another currency]",
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
    },
    "A database that fails loses nothing, and people are told.": {
        "pages raise while the database is away": (
            f"{_AWAY}::test_customers_are_told_in_their_language_when_the_database_is_away",
            Drop("views:_make_blueprint", "register_error_handler"),
        ),
        "connections to a read-only server are kept": (
            "databases/test_read_only.py",
            Never("database.connections:_on_error", "READ_ONLY"),
        ),
    },
    "Staff and customers move money only as their duties allow.": {
        "who asked for a payout approves it": (
            _TWO_PERSONS,
            Swap("payouts.decisions:PayoutDecisions.may_approve", "asked_by is None", "True"),
        ),
        "the owner's pages ask for no ability": (
            "views/test_person.py::test_a_person_does_only_what_it_may[look]",
            Never("views.owner:_require_ability", "ability"),
        ),
        "a decision on a payout leaves no deed": (
            f"{_DUTIES}::test_deeds_are_recorded_through_each_door_and_survive_prune",
            Never("payouts.payout_moves:PayoutMoves.move_in", "deed"),
        ),
        "a payout that nobody claims in time stays claimable": (
            f"{_DUTIES}::test_what_nobody_claims_in_time_is_cancelled_and_what_was_claimed_stays",
            Swap("payouts.sending:PayoutSender._let_time_pass", "self.payouts.overdue(results.started)", "()"),
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
            Swap("payouts.stored:Payouts._take_within", "total <= limit", "True"),
        ),
        "each try of a payout counts against the daily limit": (
            f"{_DAILY}::test_retries_of_one_day_count_once",
            Swap("payouts.stored:Payouts._take_within", "payout.counted_on == mark", "False"),
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
        "title and note of a request stay when it is erased": (
            f"{_ASKED}::test_erasing_empties_title_and_note_and_the_whys_about_it",
            Swap("books.erasing:Erasing.erase", 'request.values(title="", note=None)', "select(1)"),
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
        "a reminder is delivered after the payment": (
            f"{_REMINDED}::test_a_reminder_that_is_no_longer_true_is_superseded[is_paid]",
            Swap(
                "checkouts.superseding:OrderSuperseding.overtaken",
                "(_ABANDONED, _PENDING, _REMINDER)",
                "(_ABANDONED, _PENDING)",
            ),
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
        "an excess is not told": (
            f"{_PARTS}::test_an_excess_is_told_and_listed_until_it_is_refunded[sqlite]",
            Swap("checkouts.moves:Moves.move_in", "move.reason == Reason.EXCESS", "False"),
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
