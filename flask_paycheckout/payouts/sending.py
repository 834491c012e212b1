"""Sending: claimed and committed before the call, and each result stored by the evidence that it is."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence

from flask_paycheckout.client import PaymentsClient, PaymentsError, ServiceFault
from flask_paycheckout.clock import Clock
from flask_paycheckout.payouts.calls import (
    PAYOUT,
    AccessToken,
    Addressed,
    Made,
    PayoutCalls,
    difference,
    is_refusal,
    keys_gone_text,
    words_of,
)
from flask_paycheckout.payouts.following import LookUps, Missing
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_queue import PayoutQueue, ReadyPayout
from flask_paycheckout.payouts.payout_schedule import Pauses
from flask_paycheckout.payouts.payout_states import PayoutEvidence
from flask_paycheckout.payouts.results import PayoutResults
from flask_paycheckout.payouts.sealing import Unreadable
from flask_paycheckout.service.logs import FailureLog, about, about_payout
from flask_paycheckout.service.record import ServiceRecord

_SENDS = "sends of payouts"
_NOT_NAMED = "the service's answer does not name it"


class Sending:
    """Sends the payouts that are ready, one batch after the other."""

    def __init__(
        self,
        queue: PayoutQueue,
        calls: PayoutCalls,
        look_ups: LookUps,
        record: ServiceRecord,
        clock: Clock,
        log: FailureLog,
    ) -> None:
        self._queue = queue
        self._calls = calls
        self._look_ups = look_ups
        self._record = record
        self._clock = clock
        self._log = log
        self._pauses = Pauses(clock)

    def run(
        self,
        access_token: AccessToken | None,
        results: PayoutResults,
        stopped: Callable[[], bool],
        *,
        at_once: bool = False,
    ) -> None:
        """Send all that is ready.

        An account's sends end at the first call that the service does not answer, or refuses altogether.

        :param access_token: for accounts without one of their own; asked for before each call if it is a function.
        :param stopped: whether to end before the next call.
        :param at_once: whether to send also for accounts that pause after failures.
        """
        ended = set() if at_once else self._pauses.accounts()
        while not stopped():
            first = self._queue.next_ready(results.started, ended)
            if first is None:
                return
            paying = self._paying(first, access_token, results)
            if paying is None:
                ended.add(first.account)
                continue
            payer, client = paying
            now, client_id = self._clock(), client.client_id
            taken = self._queue.take(first, results.started, now, paid_by=payer, client_id=client_id)
            began = time.monotonic()
            if taken and not self._send(client, taken, results):
                ended.add(first.account)
                self._pauses.failed(first.account, time.monotonic() - began)
            elif taken:
                self._pauses.answered(first.account)
            results.deliver()

    def _paying(
        self, first: ReadyPayout, given: AccessToken | None, results: PayoutResults
    ) -> tuple[str, PaymentsClient] | None:
        """The account that pays and its client with its access token; None without one, and nothing is claimed."""
        account = first.account
        try:
            payer = self._calls.payer_of(account) if first.paid_by is None else first.paid_by
            token = self._calls.token_of(payer, given)
            return None if token is None else (payer, self._calls.authorized(token, payer))
        except PaymentsError as error:
            words = words_of(error)
        except Exception as error:
            # Without its message, which the shop's own function may have made of the token.
            words = f"no access token: PAYCHECKOUT_ACCESS_TOKEN raised {type(error).__name__}"
        self._log.warning(_SENDS, "payouts are not sent: %s", words, extra=about(account=account))
        self._record.on_failure(PAYOUT, words, account)
        results.call_failed()
        return None

    def _send(self, client: PaymentsClient, taken: Sequence[PayoutMixin], results: PayoutResults) -> bool:
        """Send claimed payouts in one call; False when further calls would fail as well."""
        asked = [payout for payout in taken if self._may_be_sent(client, payout, results)]
        batch = self._held(self._addressed(asked, results))
        if not batch:
            return True
        try:
            made = self._calls.send(client, batch)
        except PaymentsError as error:
            alone = batch[0].payout if len(batch) == 1 else None
            fields = about(account=batch[0].payout.account) if alone is None else about_payout(alone)
            text, words = "%d payouts were not sent, or not for certain: %s", words_of(error, batch)
            self._log.warning(_SENDS, text, len(batch), words, extra=fields, error=error)
            results.call_failed()
            return self._failed(batch, error, results)
        except (TypeError, ValueError) as error:
            # The client could not build the call, so nothing was sent.
            results.call_failed()
            for one in batch:
                store = results.not_carried_out if len(batch) == 1 else results.send_alone
                store(one.payout, words_of(error, batch))
            return True
        except Exception as error:
            results.call_failed()
            self._lost(batch, words_of(error, batch), results)
            return False
        self._answered(batch, made, results)
        return True

    def _may_be_sent(self, client: PaymentsClient, payout: PayoutMixin, results: PayoutResults) -> bool:
        """Whether nothing that was sent for this payout before can have been carried out."""
        if payout.client_id != client.client_id:
            # Other keys may belong to another account of the service, which does not know what was sent before.
            results.in_doubt(payout, keys_gone_text(payout.client_id))
            return False
        return self._look_ups.ask_earlier(payout, results)

    def _addressed(self, taken: Sequence[PayoutMixin], results: PayoutResults) -> list[Addressed]:
        """The payouts with their destinations; one that cannot be read goes back, and does not stop the others."""
        batch = []
        for payout in taken:
            try:
                batch.append(Addressed(payout, self._calls.destination(payout)))
            except Unreadable as error:
                results.call_failed()
                results.not_carried_out(payout, str(error))
        return batch

    def _held(self, batch: Sequence[Addressed]) -> list[Addressed]:
        """The payouts whose claim still holds, prolonged; a sender that slept past its claim sends nothing."""
        if not batch:
            return []
        to = {one.payout.id: one.to for one in batch}
        held = self._queue.renew(str(batch[0].payout.lease_token), self._clock())
        return [Addressed(payout, to[payout.id]) for payout in held if payout.id in to]

    # Results

    def _answered(self, batch: Sequence[Addressed], made: Sequence[Made], results: PayoutResults) -> None:
        """Store the service's answer, and look up the payouts that it does not name."""
        named = defaultdict(list)
        for answer in made:
            named[answer.reference].append(answer)
        unnamed = []
        for one in batch:
            answers = named[one.payout.service_reference]
            if answers:
                self._named(one, answers, results)
            else:
                unnamed.append(one)
        if unnamed:
            results.call_failed()
            self._lost(unnamed, _NOT_NAMED, results)

    def _named(self, one: Addressed, answers: Sequence[Made], results: PayoutResults) -> None:
        made = answers[0]
        differing = difference(one.payout, one.to, made)
        if len({answer.disbursement_id for answer in answers}) > 1:
            results.differs(one.payout, made, "the service's answer names it twice")
        elif differing is not None:
            results.differs(one.payout, made, f"the service has it with another {differing}")
        elif one.payout.is_token and str(made.status).lower() == "failed":
            results.differs(one.payout, made, "the service's answer says that it failed")
        else:
            results.sent(one.payout, made, PayoutEvidence.ACCEPTED)

    def _failed(self, batch: Sequence[Addressed], error: PaymentsError, results: PayoutResults) -> bool:
        """Store a failed call; False when further calls would fail as well."""
        words = words_of(error, batch)
        if error.carried_out == "unknown":
            # A service that fails with its own words may do so because of one of them.
            self._lost(batch, words, results, alone=isinstance(error, ServiceFault) and len(batch) > 1)
            return False
        if is_refusal(error):
            self._refused(batch, words, results)
            return True
        for one in batch:
            results.not_carried_out(one.payout, words, error.retry_after)
        return False

    def _refused(self, batch: Sequence[Addressed], words: str, results: PayoutResults) -> None:
        """Store a refusal: an earlier call may have carried some out, and one that is bad must not stop the others."""
        if batch[0].payout.is_token:
            for one in batch:
                (results.in_doubt if one.payout.doubted else results.refused)(one.payout, words)
        elif len(batch) == 1:
            self._look_up(batch, words, results, results.missed, refused=True)
        else:
            self._look_up(batch, words, results, lambda payout, *times: results.send_alone(payout, words), alone=True)

    def _lost(self, batch: Sequence[Addressed], words: str, results: PayoutResults, *, alone: bool = False) -> None:
        """Store that an answer was lost, and look the bank transfers up."""
        if batch[0].payout.is_token:
            for one in batch:
                results.in_doubt(one.payout, words)
            return
        self._look_up(batch, words, results, results.missed, doubted=True, **({"alone": True} if alone else {}))

    def _look_up(
        self,
        batch: Sequence[Addressed],
        words: str,
        results: PayoutResults,
        missing: Missing,
        **values: bool,
    ) -> None:
        """Store that a call failed, with further columns, and look its payouts up."""
        held = [results.failed(one.payout, words, **values) for one in batch]
        self._look_ups.look_up([payout for payout in held if payout is not None], results, missing)
