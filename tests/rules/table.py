"""All rules of the service's interface, each with the tests that show it."""

from __future__ import annotations

from tests.rules import (
    access,
    auth,
    checkouts,
    conventions,
    crypto_disbursements,
    deposits,
    errors,
    events,
    fiat_batches,
    fiat_disbursements,
    limits,
    payments,
    recipients,
    references,
    versions,
)
from tests.rules.rule import Rule

RULES: tuple[Rule, ...] = (
    *conventions.RULES,
    *access.RULES,
    *auth.RULES,
    *fiat_disbursements.RULES,
    *fiat_batches.RULES,
    *crypto_disbursements.RULES,
    *checkouts.RULES,
    *deposits.RULES,
    *recipients.RULES,
    *payments.RULES,
    *references.RULES,
    *events.RULES,
    *errors.RULES,
    *limits.RULES,
    *versions.RULES,
)
