"""The threats to the owner's view."""

from __future__ import annotations

from tests.security.threat import Edit, Removal, Threat

__all__ = ["THREATS"]

_VIEW = "tests/views/test_owner.py"

THREATS = (
    Threat(
        "a stranger on the owner's pages",
        "They exist only where the shop registers them with a permission, which is asked before every answer.",
        (
            f"{_VIEW}::test_without_a_permission_there_is_no_view",
            f"{_VIEW}::test_whom_the_shop_does_not_name_sees_nothing",
            f"{_VIEW}::test_the_permission_is_asked_in_every_request",
        ),
        (
            Removal(
                "the question who looks",
                Edit("views/owner.py", "    blueprint.before_request(lambda: _require_permission(permission))\n", ""),
                f"{_VIEW}::test_whom_the_shop_does_not_name_sees_nothing",
            ),
            Removal(
                "the refusal of who is nobody",
                Edit("views/owner.py", "    if who is None:\n", "    if False:\n"),
                f"{_VIEW}::test_whom_the_shop_does_not_name_sees_nothing",
            ),
        ),
    ),
    Threat(
        "another site, or another person, that decides a held payment in the owner's name",
        "The form must come from the shop's own page; its token stands for checkout and person, and the name on the"
        " record is what the shop's permission said.",
        (
            f"{_VIEW}::test_another_sites_form_decides_nothing",
            f"{_VIEW}::test_a_form_is_good_for_the_person_it_was_made_for_only",
            f"{_VIEW}::test_who_decides_is_never_taken_from_the_form",
        ),
        (
            Removal(
                "the question where a decision comes from",
                Edit("views/owner.py", '    require_same_site("Please decide', '    str("Please decide'),
                f"{_VIEW}::test_another_sites_form_decides_nothing",
            ),
            Removal(
                "the person in the form's token",
                Edit("views/owner.py", "not checkout_id or who != g.paycheckout_owner", "not checkout_id"),
                f"{_VIEW}::test_a_form_is_good_for_the_person_it_was_made_for_only",
            ),
        ),
    ),
    Threat(
        "a secret on the owner's screen",
        "The pages show neither URLs nor tokens that pay, and of a receiver's error no more than its kind.",
        (
            f"{_VIEW}::test_no_page_shows_a_secret_a_token_or_a_payment_url",
            f"{_VIEW}::test_what_failed_in_a_receiver_is_named_without_its_words",
        ),
        (
            Removal(
                "the cut of a receiver's words",
                Edit(
                    "templates/paycheckout/owner/order.html",
                    'event.last_error.partition(":")[0]',
                    "event.last_error",
                ),
                f"{_VIEW}::test_what_failed_in_a_receiver_is_named_without_its_words",
            ),
        ),
    ),
)
