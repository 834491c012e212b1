"""What counts as showing a rule, on calls that are made up here; and that a rule that nobody shows fails a run."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.wire.openapi import document
from tests.rules.document import claimed_by, said_by
from tests.rules.evidence import Call, is_a, shown, wanted
from tests.rules.rule import Refused, Rule
from tests.rules.table import RULES
from tests.rules.watching import NOTES, Judge, without_parameters

OPERATION, TEST = "POST /v1/things", "tests/sandbox/test_things.py::test_a_thing"
RULE = Rule(id="thing", says="A thing is made.", on=(OPERATION,), shown_by=(TEST,))


def refused(message: str, code: int = 400, **more: Any) -> Call:
    return Call(OPERATION, code, {"statusCode": code, "error": "Bad Request", "message": message}, **more)


def accepted(data: Any = None, **more: Any) -> Call:
    return Call(OPERATION, 200, {"statusCode": 200, "message": "ok", "data": data}, **more)


def is_shown(rule: Rule, *calls: Call) -> bool:
    return wanted(rule) <= set().union(*(shown(rule, call) for call in calls))


def test_a_rule_wants_its_operation_to_be_called() -> None:
    assert not is_shown(RULE)
    assert not is_shown(RULE, replace(accepted(), operation="GET /v1/things"))
    assert is_shown(RULE, accepted())


@pytest.mark.parametrize("place", ["amount", "items[].amount", "bank.amount"])
def test_a_required_field_is_sent_and_missed(place: str) -> None:
    def body(value: Any) -> dict[str, Any]:
        return {"amount": value, "items": [{"amount": 1}, {"amount": value}], "bank": {"amount": value}}

    rule = replace(RULE, takes=(f"{place}: number",))
    sent = accepted(body=body(5))
    missed = refused(f"{place.replace('[]', '[1]')} is required.", body=body(None))
    assert is_shown(rule, sent, missed)
    assert not is_shown(rule, sent)
    assert not is_shown(rule, missed)
    # Refused for another reason, or accepted, it was not missed.
    assert not is_shown(rule, sent, refused("other is required.", body=body(None)))
    assert not is_shown(rule, sent, accepted(body=body(None)))


def test_an_optional_field_is_sent_and_done_without() -> None:
    rule = replace(RULE, takes=("note?: string",))
    assert is_shown(rule, accepted(body={"note": "x"}), accepted(body={}))
    assert not is_shown(rule, accepted(body={"note": "x"}))
    assert not is_shown(rule, accepted(body={"note": "x"}), refused("note is required.", body={}))
    # Nothing is missing from an object that is not there.
    assert not is_shown(
        replace(RULE, takes=("bank.note?: string",)), accepted(body={"bank": {"note": "x"}}), accepted(body={})
    )


def test_every_word_of_a_choice_is_accepted() -> None:
    rule = replace(RULE, asks=("sort?: up | down = up",))
    calls = [accepted(query={"sort": "up"}), accepted(query={})]
    assert not is_shown(rule, *calls)
    assert not is_shown(rule, *calls, refused("sort", query={"sort": "down"}))
    assert is_shown(rule, *calls, accepted(query={"sort": "down"}))


def test_a_field_of_the_answer_is_filled_with_each_thing_that_it_may_hold() -> None:
    rule = replace(RULE, gives=("data.docs[].number: integer | string",))
    assert not is_shown(rule, accepted({"docs": [{"number": 5}]}))
    assert not is_shown(rule, accepted({"docs": []}))
    assert is_shown(rule, accepted({"docs": [{"number": 5}, {"number": "007"}]}))
    nullable = replace(RULE, gives=("data.page: integer | null",))
    assert not is_shown(nullable, accepted({"page": 5}))
    assert is_shown(nullable, accepted({"page": 5}), accepted({"page": None}))


def test_what_is_never_filled_is_null() -> None:
    rule = replace(RULE, gives=("data.otp?: string",), never_filled=("data.otp",))
    assert is_shown(rule, accepted({"otp": None}))
    assert not is_shown(rule, accepted({"otp": "x"}))


def test_an_error_is_worded_as_the_rule_says() -> None:
    rule = replace(RULE, refuses=(Refused(400, "Bad Request", "No such thing"),))
    assert is_shown(rule, refused("No such thing"))
    assert not is_shown(rule, refused("Other"))
    assert is_shown(replace(RULE, refuses=(Refused(400, "Bad Request"),)), refused("Other"))
    assert not is_shown(replace(RULE, refuses=(Refused(404, "Bad Request"),)), refused("Other"))


def test_credentials_are_asked_for() -> None:
    signed = frozenset({"X-Signature", "X-Timestamp", "X-Client-ID"})
    rule = replace(RULE, needs="signature")
    calls = [accepted(credentials=signed), refused("", 401)]
    assert not is_shown(rule, *calls)
    assert is_shown(rule, *calls, refused("", 401, credentials=frozenset({"Authorization"})))
    assert is_shown(replace(RULE, needs="nothing"), accepted())
    assert not is_shown(replace(RULE, needs="nothing"), refused("", 401))


@pytest.mark.parametrize(
    ("kind", "value", "holds"),
    [
        ("boolean", True, True),
        ("integer", True, False),
        ("integer", Decimal("1.0"), False),
        ("number", 1, True),
        ("string", None, False),
        ("timestamp", "2026-01-01T00:00:00.000Z", True),
        ("timestamp", "2026-01-01T00:00:00", False),
        ("201", 201, True),
        ("201", 200, False),
    ],
)
def test_what_a_value_is(kind: str, value: Any, holds: bool) -> None:
    assert is_a(kind, value) is holds


def report(outcome: str = "passed", when: str = "teardown", notes: Any = None, test: str = TEST) -> pytest.TestReport:
    properties = [] if notes is None else [(NOTES, notes)]
    return pytest.TestReport(test, ("", 0, ""), {}, outcome, None, when, user_properties=properties)  # type: ignore[arg-type]


def test_the_judge_takes_the_notes_of_all_parameters_together() -> None:
    rule = replace(RULE, takes=("note?: string",))
    first, *others = sorted(wanted(rule))
    judge = Judge((rule,))
    for notes, number in (([first], 1), (others, 2)):
        assert judge.judge() != [] or number == 1
        judge.pytest_runtest_logreport(report(when="call", test=f"{TEST}[{number}]"))
        judge.pytest_runtest_logreport(report(notes={rule.id: notes}, test=f"{TEST}[{number}]@group"))
    assert judge.judge() == []


def test_the_judge_names_what_nobody_shows() -> None:
    rule = replace(RULE, takes=("note?: string",))
    judge = Judge((rule,))
    judge.pytest_runtest_logreport(report(when="call"))
    judge.pytest_runtest_logreport(report(notes={rule.id: [f"{OPERATION} is called", f"{OPERATION} takes note"]}))
    assert judge.judge() == [f"thing: no test shows that {OPERATION} does without note"]


def test_the_judge_waits_for_all_tests_of_a_rule_and_leaves_failures_alone() -> None:
    assert Judge((RULE,)).judge() == []
    judge = Judge((RULE,))
    judge.pytest_runtest_logreport(report("failed", "call"))
    assert judge.judge() == []


def test_a_test_that_was_skipped_shows_nothing() -> None:
    judge = Judge((RULE,))
    judge.pytest_runtest_logreport(report("skipped", "setup"))
    assert f"thing: {TEST} was skipped" in judge.judge()


@pytest.mark.parametrize(
    ("id_", "test"), [("a.py::t", "a.py::t"), ("a.py::t[x@y]", "a.py::t"), ("a.py::t@g", "a.py::t")]
)
def test_parameters_and_groups_are_no_part_of_a_tests_name(id_: str, test: str) -> None:
    assert without_parameters(id_) == test


def test_a_run_whose_tests_pass_fails_for_a_rule_that_they_do_not_show(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it="def test_passes(): pass")
    pytester.makeconftest(
        """
        from tests.rules.rule import Rule
        from tests.rules.watching import Judge

        def pytest_configure(config):
            named = ("test_it.py::test_passes",)
            rule = Rule(id="thing", says="A thing is made.", on=("POST /v1/things",), shown_by=named)
            config.pluginmanager.register(Judge((rule,)))
        """
    )
    run = pytester.runpytest_inprocess("-p", "no:randomly")
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    run.assert_outcomes(passed=1)
    run.stdout.fnmatch_lines(["thing: test_it.py::test_passes does not call POST /v1/things"])
    assert pytester.runpytest_inprocess("-p", "no:randomly", "-k", "passes").ret == pytest.ExitCode.OK


def test_the_document_notices_fields_that_come_go_or_change() -> None:
    described = document(create_sandbox())
    sent = described["components"]["schemas"]["NewCheckout"]
    sent["properties"]["colour"] = {"type": "string"}
    sent["properties"]["inputCurrency"]["type"] = "integer"
    sent["required"].append("outputCurrency")
    del sent["properties"]["inputAmount"]
    said, claimed = said_by(described), claimed_by(RULES)
    assert said - claimed == {
        "POST /v1/checkout takes colour?: string",
        "POST /v1/checkout takes inputCurrency: integer",
        "POST /v1/checkout takes outputCurrency: string | null",
    }
    assert claimed - said == {
        "POST /v1/checkout takes inputCurrency: string",
        "POST /v1/checkout takes inputAmount?: number",
        "POST /v1/checkout takes outputCurrency?: string",
    }
