"""Deposits: the payments behind checkouts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask_paycheckout.client.operations import Operation
from flask_paycheckout.client.records.deposits import Deposit
from flask_paycheckout.client.waiting import Resource, W, method

if TYPE_CHECKING:
    from flask_paycheckout.client.records.record import DepositStatus

__all__ = ["Deposits"]

_GET = Operation("GET", "/v1/deposit/{id}", Deposit, repeatable=True)
# Setting a status twice is harmless in itself, but every update sends a webhook: it is sent once.
_SANDBOX_UPDATE = Operation("PATCH", "/v1/deposit/{id}", Deposit, may_move_money=True)


class Deposits(Resource[W]):
    """`client.deposits`. A checkout's deposit has the checkout's id, from the moment that the customer picks a method.

    >>> link = client.checkouts.create(Pay("12.50", "USD"))
    >>> picked = sandbox.post(f"checkouts/{link.id}/pick", json={})  # on the hosted page, where it is a real customer
    >>> deposit = client.deposits.get(link.id)
    >>> print(deposit.status, deposit.input_amount, deposit.input_currency)
    pending 12.50 USD
    >>> client.deposits.sandbox_update(link.id, "completed").status
    'completed'
    """

    @method
    async def get(self, deposit_id_or_reference: str, *, timeout: float | None = None) -> Deposit:
        """The deposit as it is now.

        :raises NotFound: there is none; for a checkout id, the customer has not picked a payment method (yet).
        :raises ValueError: the id cannot be one.
        :raises PaymentsError: see `errors`.
        """
        return await self._caller.record(_GET, ids={"id": deposit_id_or_reference}, timeout=timeout)

    @method
    async def sandbox_update(
        self, deposit_id: str, status: DepositStatus | str, *, timeout: float | None = None
    ) -> Deposit:
        """Sets a deposit's status; the service's sandbox only, which also sends the webhook. Never sent twice.

        :raises Invalid: no payment method was picked yet.
        :raises OutcomeUnknown: the answer was lost; `get` tells whether the status was set.
        :raises ValueError: the id cannot be one.
        :raises PaymentsError: see `errors`.
        """
        return await self._caller.record(
            _SANDBOX_UPDATE,
            ids={"id": deposit_id},
            body={"status": status},
            references=(deposit_id,),
            timeout=timeout,
        )
