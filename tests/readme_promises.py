"""What README promises or forbids, sentence by sentence, each with a test that would turn red if it were not so."""

from __future__ import annotations

__all__ = ["PROMISES"]

#: A piece of a sentence of README, word for word but for its line breaks, and the tests that hold it.
PROMISES: dict[str, tuple[str, ...]] = {
    # The start
    "your code hears `order_paid` once": ("races/test_one_checkout.py", "journeys/test_paying.py"),
    "when none ever comes the payment is found all the same": ("journeys/test_paying.py",),
    "What is missing for some of them (Chromium, PostgreSQL, Redis) is named at the end": ("test_optional_parts.py",),
    # How it works
    "the pay button carries a sealed token and no price": (
        "views/test_checkout.py::test_the_button_is_a_form_with_a_token_and_no_price",
    ),
    "a float is refused": ("test_totals.py",),
    "The checkout is stored before its URL is shown": (
        "checkouts/test_start.py::test_the_page_is_stored_and_told_before_its_url_is_known_to_anybody",
    ),
    "Pressing the button again gives the same page while the total is the same": (
        "views/test_checkout.py::test_pressing_twice_leads_to_the_same_page",
    ),
    "after a change it gives a new one, and the old one stays watched, because it can still be paid": (
        "checkouts/test_start.py::test_a_page_that_no_longer_fits_is_replaced_and_kept",
        "checkouts/test_start.py::test_a_replaced_page_still_pays",
    ),
    "Only a fresh read of the deposit decides": (
        "views/test_webhook.py::test_what_the_webhook_itself_says_is_not_evidence",
    ),
    "Id, currency and amount must equal what was stored": ("rules/test_matching.py", "money/test_pairs.py"),
    "no other attempt may have paid the order": ("races/test_two_payments.py",),
    "`order_total`, asked again, must still say the same": (
        "checkouts/test_settlement.py::test_a_payment_of_an_order_that_is_no_longer_that_order_is_held",
    ),
    "No change of the order slips in between": ("checkouts/test_atomic.py", "races/test_changed_carts.py"),
    "A state change and its event are one transaction": (
        "store/test_checkouts.py::test_a_move_whose_event_cannot_be_stored_does_not_happen",
    ),
    "is committed together with the mark that they ran: exactly once": (
        "races/test_receivers.py",
        "checkouts/test_outbox.py",
    ),
    "A receiver that raises is run again": ("checkouts/test_outbox.py::test_only_the_receiver_that_failed_runs_again",),
    "`paid` | the payment agrees with the order, or you accepted it; never changes": (
        "states/test_orders_of_evidence.py",
    ),
    "a late payment is accepted if you still want it, else held": (
        "checkouts/test_settlement.py::test_a_payment_that_agrees_pays",
    ),
    # Signals
    "16 minutes after the start": (
        "checkouts/test_signal_times.py::test_a_page_on_which_nothing_is_picked_is_given_up_after_16_minutes",
    ),
    "10 seconds later while the page is new, 5 minutes at most": (
        "checkouts/test_signal_times.py::test_a_pick_is_found_within_half_the_age_of_the_page",
    ),
    "A payment that comes later still is `paid` or `held`": (
        "checkouts/test_settlement.py::test_how_long_a_payment_may_be_on_its_way_depends_on_how_the_customer_pays",
    ),
    "`checkout.reason` says of an abandoned checkout how it ended": (
        "checkouts/test_settlement.py::test_each_end_without_a_payment_has_a_reason_which_goes_when_the_deposit_comes_back",
    ),
    # Promises
    "No paid order is lost": ("crash/test_death.py", "crash/test_lost_answers.py"),
    "Never paid for the wrong money": ("money/test_pairs.py",),
    "`order_paid` once per order**": ("races/test_one_checkout.py", "races/test_receivers.py"),
    "Events of an order arrive in order": ("races/test_histories.py", "checkouts/test_event_order.py"),
    "A state never goes backwards": ("states/test_orders_of_evidence.py", "states/test_machine.py"),
    "No customer holds a payment page that the shop forgot": ("crash/test_lost_answers.py", "crash/test_death.py"),
    "a second payment of an order is noticed": ("races/test_two_payments.py",),
    "A forged or repeated webhook changes nothing": ("hostile/test_webhook.py::test_hostile_posts_change_nothing",),
    "a 200 means stored": (
        "views/test_webhook.py::test_what_could_not_be_stored_is_a_503_and_comes_again",
        "crash/test_database_errors.py",
    ),
    "one that is too early is survived": (
        "crash/test_early_webhooks.py::test_200_webhooks_that_overtake_the_answer_are_survived",
    ),
    "each turns a test red": ("mutants/test_mutants.py",),
    "every 5 minutes at least on the first day of a payment that is pending and every hour after it": (
        "rules/test_schedule.py::test_a_pending_checkout",
    ),
    "every 12 hours for a week once the customer seems to be gone": (
        "rules/test_schedule.py::test_an_abandoned_checkout",
    ),
    # Configuration
    "a wrong value stops the app with a message that says what to do": (
        "test_config.py::test_refused_at_init_app_by_key_fault_and_remedy",
    ),
    # Production
    "It finishes its round when it is stopped": (
        "test_cli.py::test_watching_goes_on_until_stopped_and_finishes_its_round",
    ),
    "Rounds of reconcile may overlap": ("checkouts/test_reconcile.py::test_two_rounds_at_once_share_the_reads",),
    "A task that is lost with its broker, queue or worker loses nothing": (
        "celery/test_workers.py::test_a_worker_killed_in_the_middle_of_a_task",
        "celery/test_workers.py::test_a_broker_that_dies_with_the_task_in_it",
    ),
    "A broker that does not answer delays a webhook's answer by a second": (
        "celery/test_workers.py::test_a_webhook_while_the_broker_hangs",
    ),
    "`settle` ends within 180 seconds": (
        "test_tasks.py::test_no_task_outlives_the_lease_of_the_event_that_it_delivers",
    ),
    # Recipes
    "the next automatic migration would drop it": (
        "test_upgrading.py::test_the_next_automatic_migration_after_a_removal",
    ),
    "They exist only where you say who may look": ("views/test_owner.py",),
    "They run no script, and show no secret, access token or payment URL": (
        "views/test_owner.py::test_every_answer_is_hardened_and_runs_no_script",
    ),
    "An amount with more decimals than its currency has is refused": (
        "test_totals.py::test_more_decimals_than_the_currency_has_are_refused_with_the_way_to_round",
    ),
    "as the button then says": ("views/test_checkout.py::test_the_button_can_open_a_new_tab_and_says_so",),
    "Reading how an order stands costs no call to the service": (
        "reports/test_explain.py::test_reading_how_an_order_stands_costs_no_call_to_the_service",
    ),
    # When something looks wrong
    "tells every attempt, webhook, read and comparison, and the rule that decided": ("reports/test_explain.py",),
    "It says when webhooks never arrive, with the address to register": (
        "reports/test_report.py::test_webhooks_that_never_came_are_an_alarm_with_its_remedy",
    ),
    "gives a remedy for each fault": (
        "test_messages.py::test_every_setting_and_every_finding_of_the_doctor_comes_with_a_remedy",
    ),
    "It changes nothing": ("doctor/test_shop.py::test_nothing_stays_changed",),
    # Security
    "it causes at most one read of a deposit that you know, once per cool-down": (
        "hostile/test_webhook.py::test_an_open_checkout_is_read_once_per_cool_down_however_it_is_named",
    ),
    "gets the same answer whatever it names": (
        "views/test_webhook.py::test_an_unknown_id_gets_the_same_answer_and_costs_no_read",
    ),
    "no other site's page can start a payment": (
        "security/test_same_site.py::test_exactly_the_shops_own_pages_may_send_the_form",
    ),
    "`CSRFProtect` of Flask-WTF works beside it": ("security/test_flask_wtf.py",),
    "Nobody reads an order id out of one": (
        "security/test_signed_links.py::test_nobody_reads_an_order_id_out_of_a_token",
    ),
    "it shows only when it was made": (
        "security/test_signed_links.py::test_two_links_of_one_order_have_nothing_in_common_but_their_time",
    ),
    "until the link is 90 days old": (
        "security/test_tokens.py::test_a_token_is_good_for_its_time_and_for_clocks_that_differ_by_seconds",
    ),
    "so that nobody keeps one alive": (
        "views/test_order_urls.py::test_links_on_our_pages_keep_the_age_of_the_link_that_led_there",
    ),
    "Neither page nor link shows an order id or a checkout id": (
        "views/test_order.py::test_neither_page_nor_json_names_an_amount_or_an_id",
    ),
    "Forged, foreign and expired links get one page, which tells of no order": (
        "views/test_checkout.py::test_a_bad_link_gets_one_page_that_tells_of_no_order",
        "security/test_one_answer.py::test_every_bad_token_gets_the_same_bytes_and_headers",
    ),
    "Customers are sent to the service's own URL only": ("security/test_payment_urls.py",),
    "forbids framing, sniffing, caching, telling the next site, and every script that is not ours": (
        "security/test_every_answer.py",
    ),
    "Its levers want the control token": ("sandbox/test_control.py::test_the_control_token_is_required",),
    "other machines' browsers then ask for the control token as a password": (
        "sandbox/inspector/test_access.py::test_other_machines_that_are_allowed_give_the_control_token",
    ),
    "what a proxy or tunnel passes on, with the headers that these add, opens neither levers nor inspector": (
        "sandbox/inspector/test_access.py::test_what_a_tunnel_or_proxy_on_this_machine_passes_on_is_refused",
    ),
    "`TRUSTED_HOSTS` refuses all other hosts": ("security/test_hosts.py",),
    "put the old one into the list `SECRET_KEY_FALLBACKS`": (
        "security/test_signed_links.py::test_an_app_that_rotates_its_secret_key_keeps_the_links_it_gave_out",
    ),
    # The client
    "A create that may have moved money is never sent twice": (
        "client/test_lost_answers.py::test_a_create_whose_answer_is_lost_is_sent_once",
    ),
    "every call ends within its time budget in a record or a typed error": ("client/test_sockets.py",),
    "the service refuses the references: nobody is paid twice": ("test_readme.py::test_a_batch_is_paid_out_once",),
}
