"""Fixtures of the tests of reports: the shop that pays out, of the tests of payouts."""

from __future__ import annotations

from tests.payouts import conftest as payouts

open_payer, payer = payouts.open_payer, payouts.payer
