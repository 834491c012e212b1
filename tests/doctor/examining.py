"""Helpers for tests of the doctor: shops to examine, and checks of the diagnosis."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx

from flask_paycheckout.doctor.checks import Check
from flask_paycheckout.doctor.shop import Diagnosis, examine
from tests.scripted import Shop, refusal

PUBLIC = {
    "PAYCHECKOUT_PUBLIC_URL": "https://shop.example",
    "SECRET_KEY": "a-secret-key-of-many-characters",
    "PAYCHECKOUT_WEBHOOK_SECRET": "canary-path-secret-1234",
}


def diagnosis(shop: Shop) -> Diagnosis:
    with shop.app.app_context():
        return examine(shop.runtime)


def about(shop: Shop, subject: str) -> list[Check]:
    return [check for check in diagnosis(shop).checks if check.about == subject]


def worst(shop: Shop, subject: str) -> Check:
    """The only check of this subject that is not ok."""
    [check_] = [check for check in about(shop, subject) if check.remedy is not None]
    return check_


def answers(shop: Shop, answer: httpx.Response) -> None:
    """Let the service give this answer to every read."""
    shop.service._read = lambda request: answer  # type: ignore[method-assign]


def told_at(**apart: float) -> httpx.Response:
    """An answer "Deposit not found" from a machine whose clock differs from ours by this much."""
    answer = refusal(404, "Deposit not found")
    answer.headers["Date"] = format_datetime(datetime.now(UTC) + timedelta(**apart), usegmt=True)
    return answer
