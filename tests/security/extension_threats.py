"""The threats to the extension's routes, tokens, pages and settings."""

from __future__ import annotations

from tests.security.threat import Edit, Removal, Threat

__all__ = ["THREATS"]

_HOSTILE = "tests/hostile/test_webhook.py"
_WEBHOOK = "tests/views/test_webhook.py"
_SETTLEMENT = "tests/checkouts/test_settlement.py"
_TOKENS = "tests/security/test_tokens.py"
_ANSWER = "tests/security/test_one_answer.py"
_SITE = "tests/security/test_same_site.py"
_WTF = "tests/security/test_flask_wtf.py"
_URLS = "tests/security/test_payment_urls.py"
_HOSTS = "tests/security/test_hosts.py"
_MARKUP = "tests/security/test_markup.py"
_EVERY = "tests/security/test_every_answer.py"
_TERMINALS = "tests/security/test_terminals.py"
_EXPLAIN = "tests/reports/test_explain.py"

THREATS = (
    Threat(
        "a forged or replayed webhook",
        "A webhook is a hint: only ids that are stored count, and only a fresh read of the deposit decides.",
        (
            f"{_HOSTILE}::test_hostile_posts_change_nothing",
            f"{_HOSTILE}::test_a_decided_checkout_is_never_read_and_only_its_first_webhook_is_counted",
            f"{_WEBHOOK}::test_what_the_webhook_itself_says_is_not_evidence",
            f"{_WEBHOOK}::test_with_a_secret_only_its_path_is_served",
            f"{_ANSWER}::test_the_webhook_secret_is_compared_in_constant_time",
        ),
        (
            Removal(
                "the comparison of the webhook's secret",
                Edit(
                    "views/webhook.py",
                    "    if not _is_expected(secret,",
                    "    if False and not _is_expected(secret,",
                ),
                f"{_WEBHOOK}::test_with_a_secret_only_its_path_is_served",
            ),
        ),
    ),
    Threat(
        "one cheap request that causes many expensive ones",
        "Unknown ids end at a look into our own table; a known checkout is read once per cool-down.",
        (
            f"{_HOSTILE}::test_an_open_checkout_is_read_once_per_cool_down_however_it_is_named",
            f"{_WEBHOOK}::test_an_unknown_id_gets_the_same_answer_and_costs_no_read",
            "tests/views/test_order.py::test_visits_share_one_read_in_five_seconds",
            f"{_ANSWER}::test_nothing_is_looked_up_for_a_bad_token",
            "tests/service/test_single_flight.py::test_webhooks_pile_up_no_reads_while_the_service_is_slow",
            "tests/service/test_single_flight.py::test_visits_pile_up_no_reads_while_the_service_is_slow",
        ),
        (
            Removal(
                "the one webhook's read at a time",
                Edit("checkouts/webhooks.py", "                if free:\n", "                if True:\n"),
                "tests/service/test_single_flight.py::test_webhooks_pile_up_no_reads_while_the_service_is_slow",
            ),
            Removal(
                "the one visit's read at a time",
                Edit(
                    "checkouts/order_status.py",
                    "                if not free:\n",
                    "                if False:\n",
                ),
                "tests/service/test_single_flight.py::test_visits_pile_up_no_reads_while_the_service_is_slow",
            ),
            Removal(
                "the cool-down between the reads of a status page",
                Edit(
                    "checkouts/order_status.py",
                    "_PAGE_COOLDOWN = timedelta(seconds=5)",
                    "_PAGE_COOLDOWN = timedelta(0)",
                ),
                "tests/views/test_order.py::test_visits_share_one_read_in_five_seconds",
            ),
        ),
    ),
    Threat(
        "a total changed on the way, or a cheap payment for a dear order",
        "The total comes from the shop's callback, before and after; the form carries a sealed token and no price.",
        (
            "tests/views/test_checkout.py::test_the_button_is_a_form_with_a_token_and_no_price",
            f"{_SETTLEMENT}::test_a_payment_of_an_order_that_is_no_longer_that_order_is_held",
        ),
        (
            Removal(
                "the second look at the total",
                Edit(
                    "checkouts/settlement.py",
                    "total = self._total_in(transaction, attempt)",
                    "total = attempt.total",
                ),
                f"{_SETTLEMENT}::test_a_payment_of_an_order_that_is_no_longer_that_order_is_held",
            ),
        ),
    ),
    Threat(
        "a token that is forged, altered, too old, or made for something else",
        "Sealed by Fernet with a key for each purpose, an age, keys that rotate, and no key that is empty.",
        (
            f"{_TOKENS}::test_a_hundred_thousand_spoiled_tokens_open_nothing",
            f"{_TOKENS}::test_spoiled_tokens_get_one_answer_at_every_route",
            f"{_TOKENS}::test_no_token_is_good_for_another_purpose",
            f"{_TOKENS}::test_only_one_algorithm_signs",
            f"{_TOKENS}::test_a_session_of_the_shop_is_no_token",
            f"{_TOKENS}::test_no_key_that_can_be_guessed_is_taken",
            f"{_TOKENS}::test_fallbacks_that_are_one_string_are_refused_at_once",
            f"{_TOKENS}::test_a_token_is_good_for_its_time_and_for_clocks_that_differ_by_seconds",
            "tests/security/test_signed_links.py::test_an_app_that_rotates_its_secret_key_keeps_the_links_it_gave_out",
            "tests/security/test_signed_links.py::test_nobody_reads_an_order_id_out_of_a_token",
            "tests/views/test_order_urls.py::test_links_on_our_pages_keep_the_age_of_the_link_that_led_there",
        ),
        (
            Removal(
                "the key of each purpose",
                Edit("security/signed_links.py", "info=purpose.encode()", 'info=b"paycheckout"'),
                f"{_TOKENS}::test_no_token_is_good_for_another_purpose",
            ),
            Removal(
                "the salt of each purpose, in links of earlier versions",
                Edit("security/signed_links.py", "salt=purpose,", 'salt="paycheckout",'),
                f"{_TOKENS}::test_no_token_is_good_for_another_purpose",
            ),
            Removal(
                "SHA-256, in links of earlier versions",
                Edit("security/signed_links.py", '"digest_method": hashlib.sha256', '"digest_method": hashlib.sha1'),
                f"{_TOKENS}::test_only_one_algorithm_signs",
            ),
            Removal(
                "the age of a token",
                Edit("security/signed_links.py", "opened.signed_at <= self._max_age:", "opened.signed_at:"),
                f"{_TOKENS}::test_a_token_is_good_for_its_time_and_for_clocks_that_differ_by_seconds",
            ),
            Removal(
                "the tolerance for clocks that differ",
                Edit("security/signed_links.py", "timedelta(seconds=30)", "timedelta(0)"),
                f"{_TOKENS}::test_a_token_is_good_for_its_time_and_for_clocks_that_differ_by_seconds",
            ),
            Removal(
                "the refusal of empty keys",
                Edit(
                    "security/signed_links.py",
                    "for key in self._keys() if key]",
                    "for key in self._keys() if key is not None]",
                ),
                f"{_TOKENS}::test_no_key_that_can_be_guessed_is_taken",
            ),
            Removal(
                "the refusal of fallbacks that are one string",
                Edit("extension.py", '"SECRET_KEY_FALLBACKS"), (str, bytes))', '"SECRET_KEY_FALLBACKS"), int)'),
                f"{_TOKENS}::test_fallbacks_that_are_one_string_are_refused_at_once",
            ),
            Removal(
                "the signature of links of earlier versions",
                Edit(
                    "security/signed_links.py",
                    ".loads(token, return_timestamp=True)",
                    ".loads_unsafe(token)[1], self._clock()",
                ),
                f"{_TOKENS}::test_a_hundred_thousand_spoiled_tokens_open_nothing[signed by an earlier version]",
            ),
        ),
    ),
    Threat(
        "reading other people's orders",
        "No link can be guessed, each bad one gets one answer, nothing is cached or told on, no amount or id shown.",
        (
            f"{_ANSWER}::test_every_bad_token_gets_the_same_bytes_and_headers",
            f"{_EVERY}::test_every_kind_of_answer_is_hardened",
            "tests/views/test_order.py::test_the_json_has_three_fields_and_no_more",
            "tests/views/test_order.py::test_neither_page_nor_json_names_an_amount_or_an_id",
            "tests/views/test_money.py::test_without_the_setting_no_amount_is_shown_in_any_language",
        ),
        (
            Removal(
                "the ban on caching",
                Edit("views/headers.py", '    headers["Cache-Control"] = "no-store"\n', ""),
                f"{_EVERY}::test_every_kind_of_answer_is_hardened[200 page]",
            ),
            Removal(
                "the silence towards the next site",
                Edit("views/headers.py", '    headers["Referrer-Policy"] = ', "    _ = "),
                f"{_EVERY}::test_every_kind_of_answer_is_hardened[200 page]",
            ),
            Removal(
                "the silence about amounts on the page, where the shop did not ask for them",
                Edit("views/order.py", "total if runtime().settings.show_total else None", "total"),
                "tests/views/test_money.py::test_without_the_setting_no_amount_is_shown_in_any_language",
            ),
            Removal(
                "the silence about ids in the JSON",
                Edit("views/order.py", "jsonify(status=", "jsonify(token=token, status="),
                "tests/views/test_order.py::test_the_json_has_three_fields_and_no_more",
            ),
        ),
    ),
    Threat(
        "a payment started by another site's page",
        "POST only, from a page that the browser says is the shop's own; Flask-WTF guards all else as before.",
        (
            f"{_SITE}::test_exactly_the_shops_own_pages_may_send_the_form",
            f"{_SITE}::test_the_referer_does_not_matter",
            f"{_SITE}::test_no_host_header_makes_another_site_the_shops_own",
            f"{_SITE}::test_what_a_proxy_would_say_is_not_believed_without_proxy_fix",
            "tests/browser/test_plain_http.py::test_our_own_form_is_taken_and_no_page_hears_of_its_link",
            "tests/views/test_checkout.py::test_only_a_post_makes_a_checkout",
            f"{_WTF}::test_our_posts_need_no_token_of_a_session",
            f"{_WTF}::test_the_shops_own_posts_are_guarded_as_before",
            f"{_WTF}::test_our_own_guard_still_stands",
            f"{_WTF}::test_a_guard_shared_with_another_app_guards_that_one_as_before",
        ),
        (
            Removal(
                "the question where a form comes from",
                Edit("views/checkout.py", "    require_same_site()\n", ""),
                f"{_SITE}::test_the_referer_does_not_matter[cross-site-https://shop.example-None]",
            ),
            Removal(
                "the distrust of neighbouring hosts",
                Edit(
                    "views/headers.py",
                    'if site in ("same-origin", "none"):',
                    'if site in ("same-origin", "none", "same-site"):',
                ),
                f"{_SITE}::test_exactly_the_shops_own_pages_may_send_the_form[by its server name]",
            ),
            Removal(
                "the distrust of a host that makes no sense",
                Edit("views/headers.py", " if request.host else set()", ""),
                f"{_SITE}::test_no_host_header_makes_another_site_the_shops_own[https://-by its public address-a b]",
            ),
            Removal(
                "the limits of what Flask-WTF is told to leave to us",
                Edit(
                    "views/csrf.py",
                    "                csrf.exempt(view)\n",
                    '                app.config["WTF_CSRF_ENABLED"] = False\n',
                ),
                f"{_WTF}::test_the_shops_own_posts_are_guarded_as_before[/own-csrf first]",
            ),
            Removal(
                "the place beside a Flask-WTF that is set up later",
                Edit("views/csrf.py", "    app.before_request(exempt)\n", ""),
                f"{_WTF}::test_our_posts_need_no_token_of_a_session[csrf last]",
            ),
        ),
    ),
    Threat(
        "a customer sent to a stranger, or a link that a stranger's Host header made",
        "Only the service's own URL, plain and of an allowed origin; addresses from the settings or a trusted host.",
        (
            f"{_URLS}::test_no_trick_leads_away_from_the_listed_origin",
            f"{_URLS}::test_without_a_list_every_trick_ends_on_https_or_on_this_machine",
            f"{_URLS}::test_a_browser_goes_where_the_check_saw_it_go",
            f"{_URLS}::test_a_url_that_another_program_stored_sends_nobody_anywhere",
            f"{_URLS}::test_a_url_that_was_allowed_and_is_not_any_more_sends_nobody_there",
            f"{_HOSTS}::test_addresses_never_come_from_a_host_that_nobody_vouched_for",
            f"{_HOSTS}::test_a_shop_that_trusts_every_host_does_not_start",
            f"{_HOSTS}::test_no_answer_repeats_a_host",
        ),
        (
            Removal(
                "the list of allowed origins",
                Edit("security/origins.py", "        if origin not in allowed:", "        if not origin:"),
                f"{_URLS}::test_no_trick_leads_away_from_the_listed_origin",
            ),
            Removal(
                "the ban on plain http",
                Edit("security/origins.py", 'elif origin.startswith("http://")', 'elif origin.startswith("ftp://")'),
                f"{_URLS}::test_without_a_list_every_trick_ends_on_https_or_on_this_machine",
            ),
            Removal(
                "the second look at a URL that was stored",
                Edit("checkouts/start.py", "require_allowed(current.url, self._allowed_origins)", "pass"),
                f"{_URLS}::test_a_url_that_was_allowed_and_is_not_any_more_sends_nobody_there",
            ),
            Removal(
                "the refusal of odd characters",
                Edit(
                    "security/origins.py",
                    "ord(character) <= 0x20 or ord(character) >= 0x7F or character in",
                    "character in",
                ),
                f"{_URLS}::test_no_trick_leads_away_from_the_listed_origin",
            ),
            Removal(
                "the refusal of user names",
                Edit("security/origins.py", '"@" in parts.netloc or ', ""),
                f"{_URLS}::test_no_trick_leads_away_from_the_listed_origin",
            ),
            Removal(
                "the refusal of odd hosts",
                Edit("security/origins.py", " or not _is_plain(parts.hostname):", ":"),
                f"{_URLS}::test_without_a_list_every_trick_ends_on_https_or_on_this_machine",
            ),
            Removal(
                "the public address",
                Edit("views/order_urls.py", "    if public:\n", "    if public and not has_request_context():\n"),
                f"{_HOSTS}::test_addresses_never_come_from_a_host_that_nobody_vouched_for[public address-evil.example]",
            ),
            Removal(
                "the demand for an address or trusted hosts",
                Edit("config.py", "    _require_public_address(settings, config, relaxed)\n", ""),
                f"{_HOSTS}::test_a_shop_that_trusts_every_host_does_not_start",
            ),
            Removal(
                "the ban on redirects that tidy paths up",
                Edit("views/__init__.py", ", merge_slashes=False", ""),
                f"{_HOSTS}::test_no_answer_repeats_a_host[unpaid-GET-/paycheckout/orders//{{status}}]",
            ),
        ),
    ),
    Threat(
        "markup from outside, and our pages inside a stranger's",
        "Everything is escaped, hardly anything from outside is shown, and a strict policy stands on every answer.",
        (
            f"{_MARKUP}::test_no_field_adds_an_element_or_attribute_to_a_page",
            f"{_MARKUP}::test_the_json_and_the_webhooks_answers_repeat_nothing",
            f"{_MARKUP}::test_a_label_is_text_even_where_the_shop_escapes_nothing_by_itself",
            f"{_EVERY}::test_every_kind_of_answer_is_hardened",
            f"{_EVERY}::test_our_static_files_are_not_sniffed",
            "tests/views/test_headers.py::test_each_answer_has_a_nonce_of_its_own_and_its_scripts_carry_it",
        ),
        (
            Removal(
                "the escape of the button's label",
                Edit("templates/paycheckout/button.html", "{{ label | e }}", "{{ label | safe }}"),
                f"{_MARKUP}::test_no_field_adds_an_element_or_attribute_to_a_page[0]",
            ),
            Removal(
                "the escape that does not depend on the shop",
                Edit("templates/paycheckout/button.html", "{{ label | e }}", "{{ label }}"),
                f"{_MARKUP}::test_a_label_is_text_even_where_the_shop_escapes_nothing_by_itself",
            ),
            Removal(
                "the ban on framing",
                Edit("views/headers.py", " frame-ancestors 'none'; form-action 'self'", " form-action 'self'"),
                f"{_EVERY}::test_every_kind_of_answer_is_hardened[200 page]",
            ),
            Removal(
                "the ban on framing what is no page",
                Edit("views/headers.py", " frame-ancestors 'none'; form-action 'none'", " form-action 'none'"),
                f"{_EVERY}::test_every_kind_of_answer_is_hardened[200 JSON]",
            ),
            Removal(
                "the ban on scripts that are not ours",
                Edit("views/headers.py", "script-src 'nonce-{nonce()}'", "script-src 'unsafe-inline'"),
                f"{_EVERY}::test_every_kind_of_answer_is_hardened[200 page]",
            ),
            Removal(
                "the ban on sniffing",
                Edit("views/headers.py", '    headers["X-Content-Type-Options"] = "nosniff"\n', ""),
                f"{_EVERY}::test_our_static_files_are_not_sniffed",
            ),
            Removal(
                "the headers of errors that no route answers",
                Edit("views/__init__.py", "    blueprint.after_app_request(harden_unrouted)\n", ""),
                f"{_EVERY}::test_every_kind_of_answer_is_hardened[405]",
            ),
        ),
    ),
    Threat(
        "words of strangers that steer a terminal, or keep the owner from seeing a payment",
        "What a terminal would obey is spelled out; a row that another program wrote is told as it stands.",
        (
            f"{_TERMINALS}::test_no_command_prints_what_a_terminal_would_obey",
            f"{_TERMINALS}::test_an_order_that_is_asked_for_and_a_payment_that_is_decided_are_names_only",
            f"{_TERMINALS}::test_an_access_token_that_no_header_takes_is_not_printed",
            f"{_EXPLAIN}::test_what_another_program_wrote_is_told_and_hides_nothing",
            "tests/store/test_history.py::test_a_line_that_is_none_hides_no_other",
            "tests/views/test_owner.py::test_a_row_that_another_program_wrote_hides_no_order",
        ),
        (
            Removal(
                "the spelling of what is not printed",
                Edit("rules/text.py", "char if char.isprintable() else", "sign if True else"),
                f"{_TERMINALS}::test_no_command_prints_what_a_terminal_would_obey[show o-1]",
            ),
            Removal(
                "the look at an access token before it is printed",
                Edit("cli.py", """        header_value("the service's access token", token)\n""", ""),
                f"{_TERMINALS}::test_an_access_token_that_no_header_takes_is_not_printed",
            ),
            Removal(
                "the patience with a total that is none",
                Edit(
                    "reports/explain.py",
                    "except (ValueError, TypeError, ArithmeticError):",
                    "except ZeroDivisionError:",
                ),
                f"{_EXPLAIN}::test_what_another_program_wrote_is_told_and_hides_nothing[no amount]",
            ),
        ),
    ),
    Threat(
        "finding out by differences and by time",
        "One answer and the same work for every bad token or id; secrets are compared in constant time.",
        (
            f"{_ANSWER}::test_every_bad_token_gets_the_same_bytes_and_headers",
            f"{_ANSWER}::test_nothing_is_looked_up_for_a_bad_token",
            f"{_ANSWER}::test_a_good_link_to_an_order_that_nobody_knows_is_answered_like_one_that_is_not_payable",
            f"{_ANSWER}::test_every_wrong_webhook_secret_gets_one_answer_and_none_tells_that_there_is_a_secret",
            f"{_ANSWER}::test_the_webhook_secret_is_compared_in_constant_time",
            f"{_HOSTILE}::test_the_answer_does_not_tell_whether_an_id_is_known",
        ),
        (
            Removal(
                "the one answer",
                Edit("views/order.py", "        abort(404)", '        abort(404 if "." in token else 410)'),
                f"{_ANSWER}::test_every_bad_token_gets_the_same_bytes_and_headers[testing-status JSON]",
            ),
            Removal(
                "the comparison in constant time",
                Edit(
                    "views/webhook.py",
                    "hmac.compare_digest(given, one.encode())",
                    "given == one.encode()",
                ),
                f"{_ANSWER}::test_the_webhook_secret_is_compared_in_constant_time",
            ),
        ),
    ),
)
