"""All sandboxes of a process share their URL rules, and nothing else."""

from __future__ import annotations

from flask_paycheckout.sandbox import create_sandbox


def test_sandboxes_share_the_rules_and_nothing_else() -> None:
    first, second = create_sandbox(control_token="first"), create_sandbox(control_token="second")
    assert second.url_map is first.url_map
    assert second.view_functions.keys() == first.view_functions.keys()
    for app, token in ((first, "first"), (second, "second")):
        asked = app.test_client().get("/_sandbox/clock", headers={"X-Sandbox-Control": token})
        assert asked.status_code == 200
    refused = second.test_client().get("/_sandbox/clock", headers={"X-Sandbox-Control": "first"})
    assert refused.status_code == 401


def test_a_rule_that_is_added_to_a_finished_sandbox_is_in_that_one_only() -> None:
    first, second = create_sandbox(), create_sandbox()
    before = {rule.rule for rule in second.url_map.iter_rules()}
    first.add_url_rule("/own", "own", lambda: "here")
    assert first.test_client().get("/own").text == "here"
    assert not first.url_map.merge_slashes
    assert second.test_client().get("/own").status_code == 404
    assert {rule.rule for rule in first.url_map.iter_rules()} - {"/own"} == before
    assert {rule.rule for rule in create_sandbox().url_map.iter_rules()} == before
