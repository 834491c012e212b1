"""The threats from the payments service's side of the line, and those to whoever runs the sandbox."""

from __future__ import annotations

from tests.security.threat import Edit, Removal, Threat

__all__ = ["THREATS"]

_ANSWERS = "tests/hostile/test_answers.py"
_IDS = "tests/hostile/test_ids.py"
_SANDBOX = "tests/hostile/test_sandbox.py"
_FOREIGN = "tests/hostile/test_foreign_pages.py"
_LOG = "tests/sandbox/wire/test_request_log.py"
_CONFIG = "tests/test_config.py"

THREATS = (
    Threat(
        "a call that goes elsewhere than to the service, or says more than was meant",
        "One origin, no redirects, no proxies or certificates of the environment; an id is one quoted path segment.",
        (
            f"{_ANSWERS}::test_a_redirect_reaches_nobody",
            f"{_ANSWERS}::test_nothing_in_the_environment_is_listened_to",
            f"{_ANSWERS}::test_no_certificate_of_the_environment_is_trusted",
            f"{_ANSWERS}::test_what_follows_an_answer_is_never_the_answer_to_the_next_call",
            f"{_IDS}::test_a_hostile_id_is_one_segment",
            f"{_IDS}::test_what_is_no_segment_is_never_sent",
            f"{_IDS}::test_a_checkout_that_could_never_be_read_is_none",
            f"{_IDS}::test_a_strange_checkout_id_is_read_as_one_segment",
            f"{_IDS}::test_an_id_that_was_never_stored_is_never_asked_for",
            f"{_CONFIG}::test_refused_at_init_app_by_key_fault_and_remedy",
        ),
        (
            Removal(
                "the refusal of redirects",
                Edit("client/transport.py", "if 300 <= received.status < 400:", "if received.status < 0:"),
                f"{_ANSWERS}::test_a_redirect_reaches_nobody",
            ),
            Removal(
                "the deafness to certificates of the environment",
                Edit("client/transport.py", "create_ssl_context(trust_env=False)", "create_ssl_context()"),
                f"{_ANSWERS}::test_no_certificate_of_the_environment_is_trusted",
            ),
            Removal(
                "the end of a connection that holds more than its answer",
                Edit("client/pool.py", "if _holds_more(answer.stream):", "if False:"),
                f"{_ANSWERS}::test_what_follows_an_answer_is_never_the_answer_to_the_next_call",
            ),
            Removal(
                "the quoting of an id's slashes",
                Edit("client/operations.py", 'return quote(value, safe="")', "return quote(value)"),
                f"{_IDS}::test_a_hostile_id_is_one_segment[deposits.get]",
            ),
            Removal(
                "the refusal of dots as an id",
                Edit("client/operations.py", 'if value in ("", ".", ".."):', 'if value == "":'),
                f"{_IDS}::test_what_is_no_segment_is_never_sent[dots-deposits.get]",
            ),
        ),
    ),
    Threat(
        "an answer that never ends, unpacks to a gigabyte or nests 100,000 deep",
        "Plain bytes only, capped while they stream, under one deadline; decoding survives any depth.",
        (
            f"{_ANSWERS}::test_a_fault_is_a_typed_error_at_once",
            f"{_ANSWERS}::test_a_dripping_answer_ends_with_the_budget",
            f"{_ANSWERS}::test_an_endless_answer_is_cut_off_in_time_and_in_flat_memory",
            f"{_ANSWERS}::test_a_gigabyte_stays_packed",
            f"{_ANSWERS}::test_a_connection_may_break_at_every_byte",
            f"{_ANSWERS}::test_a_handshake_that_is_none_is_an_error_in_time",
            f"{_ANSWERS}::test_the_order_stands_as_before",
            f"{_ANSWERS}::test_and_is_paid_when_the_service_comes_to_its_senses",
        ),
        (
            Removal(
                "the cap on a body",
                Edit("client/transport.py", "        if len(body) > max_bytes:", "        if False:"),
                f"{_ANSWERS}::test_an_endless_answer_is_cut_off_in_time_and_in_flat_memory[until-close]",
            ),
            Removal(
                "the one deadline of all reads",
                Edit(
                    "client/pool.py",
                    "self._stream.read(max_bytes, _left(timeout, httpcore.ReadTimeout))",
                    "self._stream.read(max_bytes, 30.0)",
                ),
                f"{_ANSWERS}::test_a_dripping_answer_ends_with_the_budget[silence]",
            ),
            Removal(
                "the refusal of packed bodies",
                Edit("client/transport.py", 'not in ("", "identity"):', 'in ("", "nothing"):'),
                f"{_ANSWERS}::test_a_fault_is_a_typed_error_at_once[encoded-gzip]",
            ),
        ),
    ),
    Threat(
        "the sandbox used against its developer, or taken for the real service",
        "Known hosts and this machine only; levers want its token, forms theirs; other sites may only link here;"
        " webhooks stay here; whatever is kept of a request is bounded.",
        (
            f"{_FOREIGN}::test_a_foreign_page_reaches_no_operation_and_no_page",
            f"{_FOREIGN}::test_by_its_origin_alone_nothing_is_changed",
            f"{_FOREIGN}::test_a_foreign_page_pays_no_checkout",
            f"{_FOREIGN}::test_no_answer_can_be_run_framed_or_loaded_elsewhere",
            f"{_LOG}::test_a_body_of_any_depth_is_refused_and_shows_no_secret",
            f"{_LOG}::test_an_entry_is_bounded_whatever_is_sent",
            "tests/sandbox/inspector/test_access.py::test_what_a_tunnel_or_proxy_on_this_machine_passes_on_is_refused",
            "tests/sandbox/inspector/test_access.py::test_other_machines_that_are_allowed_give_the_control_token",
            "tests/sandbox/wire/test_sockets.py::test_a_caller_who_falls_silent_is_let_go",
            "tests/sandbox/outgoing/test_mails.py::test_no_address_becomes_another_header",
            f"{_SANDBOX}::test_what_is_no_host_is_none_of_ours",
            f"{_SANDBOX}::test_without_the_token_no_control_call_answers_or_moves_anything",
            f"{_SANDBOX}::test_no_lever_of_the_inspector_moves_for_another_page",
            f"{_SANDBOX}::test_the_forms_token_alone_is_no_leave_for_another_page",
            f"{_SANDBOX}::test_no_preflight_is_answered_with_leave",
            f"{_SANDBOX}::test_a_rebound_name_gets_nothing_even_with_the_token",
            f"{_SANDBOX}::test_headers_of_proxies_are_not_believed",
            f"{_SANDBOX}::test_over_a_socket_the_same",
            f"{_SANDBOX}::test_every_page_says_that_it_is_a_sandbox_and_cannot_be_framed",
            f"{_SANDBOX}::test_webhooks_do_not_leave_this_machine",
            f"{_SANDBOX}::test_a_name_that_moved_away_is_not_followed",
            f"{_SANDBOX}::test_a_name_that_moves_between_the_look_and_the_call_is_called_where_it_was",
            f"{_CONFIG}::test_a_sandbox_is_refused_in_production_unless_allowed",
            f"{_CONFIG}::test_so_is_this_machine_in_any_other_spelling",
        ),
        (
            Removal(
                "the control token",
                Edit(
                    "sandbox/wire/callers.py", "    if not world().is_control_token(", "    if False and (lambda _: 0)("
                ),
                f"{_SANDBOX}::test_without_the_token_no_control_call_answers_or_moves_anything[form]",
            ),
            Removal(
                "the list of host names",
                Edit("sandbox/wire/callers.py", "    if name not in world().hosts and", "    if False and"),
                f"{_SANDBOX}::test_a_rebound_name_gets_nothing_even_with_the_token[evil.example]",
            ),
            Removal(
                "the look at the page that a request comes from",
                Edit("sandbox/wire/cross_origin.py", "    if is_cross_site():", "    if False:"),
                f"{_FOREIGN}::test_a_foreign_page_pays_no_checkout",
            ),
            Removal(
                "the bound on what is kept of a signature",
                Edit("sandbox/wire/request_log.py", '"signed_string": _signed(g.get(', '"signed_string": (g.get('),
                f"{_LOG}::test_an_entry_is_bounded_whatever_is_sent",
            ),
            Removal(
                "the token in the inspector's forms",
                Edit("sandbox/wire/callers.py", "    if foreign or not hmac", "    if foreign and not hmac"),
                f"{_SANDBOX}::test_no_lever_of_the_inspector_moves_for_another_page[no-word-of-where-from]",
            ),
            Removal(
                "the look at where a form comes from",
                Edit("sandbox/wire/callers.py", "    if foreign or not hmac", "    if not hmac"),
                f"{_SANDBOX}::test_the_forms_token_alone_is_no_leave_for_another_page",
            ),
            Removal(
                "the look at the address before a webhook is sent",
                Edit(
                    "sandbox/outgoing/webhook_sender.py",
                    "if not loopback_only or ip_address(",
                    "if True or ip_address(",
                ),
                f"{_SANDBOX}::test_a_name_that_moved_away_is_not_followed",
            ),
            Removal(
                "the sending to the address that was looked at",
                Edit(
                    "sandbox/outgoing/webhook_sender.py",
                    "socket.create_connection(self.address,",
                    "socket.create_connection((self.host, self.port),",
                ),
                f"{_SANDBOX}::test_a_name_that_moves_between_the_look_and_the_call_is_called_where_it_was",
            ),
            Removal(
                "the refusal of this machine as the service in production",
                Edit("config.py", "if reaches_this_machine(host) and not", "if False and not"),
                f"{_CONFIG}::test_so_is_this_machine_in_any_other_spelling",
            ),
        ),
    ),
)
