"""`python -m tests.soak.shared_sandbox`: many threads at once in a sandbox of several processes on one database.

Each thread does what merchants, customers and testers do, and notes what was acknowledged. At the end the books of the
sandbox must hold exactly that: nothing is lost, nothing is there twice, no call fails, and the receiver of the webhooks
has each exactly once. Exit code 0 when that is so, else 1.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from threading import Lock
from typing import Any

from flask import Flask

from tests.chance import stream
from tests.sandbox.actors import CONTROL_TOKEN, Answer, Merchant, Tester
from tests.sandbox.auth.visitors import Visitor
from tests.sandbox.disbursements.payers import WALLET, Payer
from tests.sandbox.recipients.payees import adds
from tests.sandbox.stations import ROOT, Shop, port_of, station
from tests.soak.databases import KINDS, databases
from tests.socket_service import Call

ACCOUNTS = 4


class Receiver(Shop):
    """Takes webhooks of both kinds."""

    def creates(self, call: Call) -> bytes:
        self.order_ids.append(call.sent.get("orderId") or call.sent["disbursementId"])
        return b""


#: Seconds that webhooks may take after the last call.
PATIENCE = 120


@dataclass
class Books:
    """What was acknowledged, by all threads."""

    deposits: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By id: the account, and the state that it must have."""
    disbursements: dict[str, tuple[str, str]] = field(default_factory=dict)
    recipients: dict[str, str] = field(default_factory=dict)
    """By id: the account."""
    webhooks: Counter[str] = field(default_factory=Counter)
    """How many webhooks each order causes."""
    references: dict[str, list[bool]] = field(default_factory=dict)
    """By reference that was sent twice: whether each was accepted."""
    logins: int = 0
    problems: list[str] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)


class Soak:
    """One run against sandboxes that are ready."""

    def __init__(self, sandboxes: list[Flask], threads: int, seconds: float, seed: int) -> None:
        self.sandboxes, self.threads, self.seconds, self.seed = sandboxes, threads, seconds, seed
        self.books, self.numbers = Books(), count()
        self.accounts = [Tester(sandboxes[0]).does("GET", f"accounts/team-{number}") for number in range(ACCOUNTS)]
        self.acts: tuple[Callable[[Random, Flask, dict[str, Any]], object], ...] = (
            *(self.pays, self.pays, self.picks, self.pays_out, self.pays_out),
            *(self.sends_tokens, self.adds_recipient, self.logs_in),
        )

    def run(self) -> int:
        """Let all threads live until the time is over; gives how many acts there were."""
        until = time.monotonic() + self.seconds
        with ThreadPoolExecutor(self.threads) as pool:
            return sum(pool.map(lambda number: self._lives(number, until), range(self.threads)))

    def _lives(self, number: int, until: float) -> int:
        chance, done = stream(self.seed, f"thread {number}"), 0
        while time.monotonic() < until:
            act, where, account = chance.choice(self.acts), chance.choice(self.sandboxes), chance.choice(self.accounts)
            try:
                act(chance, where, account)
            except Exception as wrong:
                # Whatever it is: a refused call, an answer that is none, a connection that broke.
                self._note(f"{act.__name__}: {type(wrong).__name__}: {str(wrong)[:300]}")
            done += 1
        return done

    def _note(self, problem: str) -> None:
        with self.books.lock:
            self.books.problems.append(problem)

    def _merchant(self, where: Flask, account: dict[str, Any]) -> Payer:
        merchant = Payer(where, account["clientSecret"], account["clientId"])
        merchant.access_token = account["accessToken"]
        return merchant

    def _elsewhere(self, chance: Random) -> Tester:
        return Tester(chance.choice(self.sandboxes))

    def picks(self, chance: Random, where: Flask, account: dict[str, Any]) -> str:
        checkout = self._merchant(where, account).makes_checkout(chance.randrange(10, 900))
        self._elsewhere(chance).picks(checkout, "us_qr")
        with self.books.lock:
            self.books.deposits[checkout] = (account["name"], "pending")
        return checkout

    def pays(self, chance: Random, where: Flask, account: dict[str, Any]) -> None:
        checkout = self.picks(chance, where, account)
        with self.books.lock:
            self.books.deposits[checkout] = (account["name"], "completed")
            self.books.webhooks[checkout] += 1
        self._elsewhere(chance).pays(checkout)
        # Read at once by another process, perhaps.
        found = self._merchant(chance.choice(self.sandboxes), account).reads_deposit(checkout)
        if found.data["status"] != "completed":
            self._note(f"{checkout} is paid, and read as {found.data['status']}")

    def pays_out(self, chance: Random, where: Flask, account: dict[str, Any]) -> None:
        merchant = self._merchant(where, account)
        recipient = merchant.reads("/v1/recipient?currency=USD").data["docs"][0]["id"]
        made = _accepted(merchant.pays({"recipientId": recipient, "amount": chance.randrange(10, 900)}))
        disbursement, status = made["disburseData"][0]["disbursementId"], chance.choice(("completed", "failed"))
        with self.books.lock:
            self.books.disbursements[disbursement] = (account["name"], status)
            self.books.webhooks[disbursement] += 1
        self._elsewhere(chance).does("POST", f"disbursements/{disbursement}/finish", {"status": status})

    def sends_tokens(self, chance: Random, where: Flask, account: dict[str, Any]) -> None:
        """Send a transfer under a reference that another thread uses at the same time."""
        number, account = next(self.numbers) // 2, self.accounts[0]
        reference = f"reference-{number}"
        receiver = {"receiverWalletAddress": WALLET, "amount": 5, "reference": reference}
        answer = self._merchant(where, account).sends_tokens(receiver)
        with self.books.lock:
            self.books.references.setdefault(reference, []).append(answer.code == 200)
            if answer.code == 200:
                made = answer.data["disburseData"][0]["disbursementId"]
                self.books.disbursements[made] = (account["name"], "pending")
            elif answer.code != 400:
                self.books.problems.append(f"sends_tokens: {answer}")

    def adds_recipient(self, chance: Random, where: Flask, account: dict[str, Any]) -> None:
        number = next(self.numbers)
        made = adds(self._merchant(where, account), name=f"Person {number}", email=f"p{number}@example.com")
        with self.books.lock:
            self.books.recipients[made] = account["name"]

    def logs_in(self, chance: Random, where: Flask, account: dict[str, Any]) -> None:
        """Log in here, read the mail there, and confirm at a third place."""
        email = f"new{next(self.numbers)}@example.com"
        token = Visitor(where).registers(email).data["verificationToken"]
        otp = Visitor(chance.choice(self.sandboxes)).otp(email)
        confirmed = Visitor(chance.choice(self.sandboxes)).confirms(token, otp)
        if confirmed.body.get("status") != 200:
            raise AssertionError(confirmed)
        with self.books.lock:
            self.books.logins += 1


def _accepted(answer: Answer) -> Any:
    if answer.code != 200:
        raise AssertionError(answer)
    return answer.data


def differences(soak: Soak, shop: Shop) -> dict[str, list[str]]:
    """What the sandbox has lost, and what it has twice or without having been asked."""
    books, lost, extra = soak.books, [], []
    for account in soak.accounts:
        name = account["name"]
        rows = Tester(soak.sandboxes[-1]).does("GET", f"disbursements?account={name}")
        made = Counter(row["disbursementId"] for row in rows)
        told = {one for one, (owner, _) in books.disbursements.items() if owner == name}
        lost += sorted(told - made.keys())
        extra += sorted(made.keys() - told) + [one for one, times in made.items() if times > 1]
        states = {row["disbursementId"]: row["status"] for row in rows}
        lost += [
            f"{one} is {states[one]}"
            for one in told & made.keys()
            # Tokens arrive by themselves, as time goes by.
            if states[one] != books.disbursements[one][1] and books.disbursements[one][1] != "pending"
        ]
        merchant = Merchant(soak.sandboxes[0], account["clientSecret"], account["clientId"])
        listed = merchant.calls("GET", "/v1/recipient?limit=1").data["totalDocs"]
        added = sum(owner == name for owner in books.recipients.values())
        # Five belong to every account from its start.
        (lost if listed < added + 5 else extra).extend(["recipients"] * abs(listed - added - 5))
    lost += _lost_deposits(soak)
    extra += [name for name, accepted in books.references.items() if sum(accepted) > 1]
    lost += [name for name, accepted in books.references.items() if len(accepted) == 2 and not any(accepted)]
    arrived = Counter(shop.order_ids)
    lost += [f"webhook of {one}" for one, times in books.webhooks.items() if arrived[one] < times]
    extra += [f"webhook of {one}" for one, times in arrived.items() if times > books.webhooks[one]]
    return {"lost": lost, "doubled": extra}


def _lost_deposits(soak: Soak) -> list[str]:
    secrets = {account["name"]: (account["clientSecret"], account["clientId"]) for account in soak.accounts}

    def look(one: tuple[int, tuple[str, tuple[str, str]]]) -> str | None:
        number, (deposit, (owner, status)) = one
        merchant = Merchant(soak.sandboxes[number % len(soak.sandboxes)], *secrets[owner])
        found = merchant.reads_deposit(deposit)
        return None if found.code == 200 and found.data["status"] == status else f"{deposit}: {found}"

    with ThreadPoolExecutor(8) as pool:
        return [wrong for wrong in pool.map(look, enumerate(soak.books.deposits.items())) if wrong is not None]


@contextmanager
def sandboxes(processes: int, database: str, shop: Shop) -> Iterator[list[Flask]]:
    """So many processes on one database; each account's webhooks go to the shop."""
    environment = {**os.environ, "SANDBOX_CONTROL_TOKEN": CONTROL_TOKEN, "SANDBOX_DATABASE": database}
    command = [sys.executable, "-m", "flask_paycheckout.sandbox", "--port", "0", "--json"]
    accounts = [part for number in range(ACCOUNTS) for part in ("--account", f"team-{number}={shop.url}/hook")]
    with ExitStack() as running:
        started = []
        for _ in range(processes):
            process = subprocess.Popen(
                [*command, *accounts], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
            )
            running.callback(process.wait, PATIENCE)
            running.callback(process.send_signal, signal.SIGINT)
            started.append(process)
        told = [json.loads(process.stdout.readline()) for process in started if process.stdout is not None]
        yield [station(port_of(facts)) for facts in told]
        for process in started:
            assert process.stdout is not None
            process.stdout.close()


def soaked(kind: str, threads: int, seconds: float, processes: int, seed: int) -> dict[str, Any]:
    """The figures of one run."""
    shop = Receiver()
    with ExitStack() as until:
        folder = Path(until.enter_context(tempfile.TemporaryDirectory()))
        until.enter_context(shop.running())
        database = until.enter_context(databases(kind, folder)).sandbox
        soak = Soak(until.enter_context(sandboxes(processes, database, shop)), threads, seconds, seed)
        began = time.monotonic()
        acts = soak.run()
        lasted = time.monotonic() - began
        deadline = time.monotonic() + PATIENCE
        while sum(soak.books.webhooks.values()) > len(shop.order_ids) and time.monotonic() < deadline:
            time.sleep(0.1)
        found = differences(soak, shop)
    books = soak.books
    return {
        **{"database": kind, "threads": threads, "processes": processes, "seed": seed},
        **{"seconds": round(lasted), "acts": acts, "deposits": len(books.deposits)},
        **{"disbursements": len(books.disbursements), "recipients": len(books.recipients), "logins": books.logins},
        **{"webhooks": len(shop.order_ids), "lost": len(found["lost"]), "doubled": len(found["doubled"])},
        **{
            "failed_calls": len(books.problems),
            "first_problems": (found["lost"] + found["doubled"] + books.problems)[:5],
        },
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=KINDS, default="sqlite")
    parser.add_argument("--threads", type=int, default=32)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    # Started as a background job, this program and those that it starts would ignore what stops them.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    figures = soaked(options.database, options.threads, options.minutes * 60, options.processes, options.seed)
    print(json.dumps(figures, indent=2))
    return 1 if figures["lost"] or figures["doubled"] or figures["failed_calls"] else 0


if __name__ == "__main__":
    sys.exit(main())
