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
