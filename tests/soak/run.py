"""One run: starts all processes, lets customers and faults act, lets the shop come to rest, and checks the record."""

from __future__ import annotations

import json
import secrets
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.promises import Violation
from tests.soak.actor import Actor
from tests.soak.bank import Bank, Bookkeeper
from tests.soak.calls import NoAnswer, call, pull
from tests.soak.checker import check
from tests.soak.clock import Clockwork
from tests.soak.customers import Town
from tests.soak.databases import Databases, Reader, databases
from tests.soak.faults import end_faults, order_faults
from tests.soak.figures import figures
from tests.soak.killer import Killer
from tests.soak.processes import RECONCILE, WEB, Processes, Sandbox
from tests.soak.record import Record, collect
from tests.waiting import eventually

#: Virtual seconds that pass at the end, one after the other, each followed by a wait until nothing is due: past the
#: payment page and every lease; past the last retry of a webhook; past PAYCHECKOUT_PENDING_FOR; past WATCH_FOR.
REST = (20 * 60, 7 * 3600, 26 * 3600, 9 * 86400)
# After the last customer's arrival, time passes faster, to wait less for the remaining customers.
_HURRY = 2
#: Machine seconds without any work that count as rest; `reconcile` polls every second.
_QUIET = 1.5
_MORE_REST = 6
_WEBHOOK = "/paycheckout/webhook"
Beside = Callable[[Processes], None]
Figures = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """The size of a run.

    :param minutes: machine minutes over which the orders and the kills are spread.
    :param speed: how many times faster than the machine's time the virtual time passes.
    """

    orders: int
    kills: int
    minutes: float
    database: str
    seed: int
    speed: float

    @property
    def seconds(self) -> float:
        return self.minutes * 60

    @property
    def longest(self) -> float:
        """The most machine seconds to wait for customers and kills: twice their time, and time to come to rest."""
        return 2 * self.seconds + 120 + 0.1 * self.orders


def run(
    plan: Plan, keep: Path | None = None, at: Databases | None = None, beside: Beside = lambda processes: None
) -> Figures:
    """Run a plan, stop everything in any case, and check the record; returns the figures.

    :param keep: an empty folder, where the record, the logs of the processes and SQLite databases stay.
    :param at: the caller's databases, instead of new ones.
    :param beside: called once in a thread while customers come; the run lasts until it has returned.
    """
    with ExitStack() as parts:
        folder = keep or Path(parts.enter_context(TemporaryDirectory(prefix="soak-")))
        folder.mkdir(parents=True, exist_ok=True)
        at = at or parts.enter_context(databases(plan.database, folder))
        processes = parts.enter_context(Processes(folder))
        sandbox = processes.start_sandbox(secrets.token_urlsafe(12), "--database", at.sandbox, "--seed", str(plan.seed))
        _write_settings(folder, at, processes, sandbox)
        stage = _Stage(plan, folder, at, processes, sandbox)
        parts.callback(stage.stop)
        stage.start()
        return stage.play(parts.enter_context(ThreadPoolExecutor(1)).submit(beside, processes))


class _Stage:
    """The running parts of one run."""

    def __init__(self, plan: Plan, folder: Path, at: Databases, processes: Processes, sandbox: Sandbox) -> None:
        self._plan, self._folder, self._at = plan, folder, at
        self._processes, self._sandbox = processes, sandbox
        self._began = time.monotonic()
        self.clockwork = Clockwork(folder / "clock", self._advance, plan.speed)
        self.town = Town(processes, sandbox, self.clockwork, plan.seed, plan.orders, plan.seconds * 0.9)
        self.killer = Killer(processes, sandbox, plan.kills, plan.seconds * 0.95, plan.seed, _WEBHOOK)
        self._quiet_since = 0.0
        self._hung: list[str] = []
        self._shop, self._service = Reader(at.shop, at.options), Reader(at.sandbox)
        self.bank = Bank(sandbox, self._service, plan.seed)
        self.actors: tuple[Actor, ...] = (self.killer, self.town, self.clockwork, self.bank)
        self._bookkeeper = Bookkeeper(processes.url(WEB[0]), self._shop, self._service)

    def start(self) -> None:
        eventually(lambda: answers(self._sandbox.url), 120)
        self._processes.make_tables()
        for name in WEB + RECONCILE:
            self._processes.start(name)
        for name in WEB:
            eventually(partial(answers, self._processes.url(name)), 120)
        self.killer.point_webhooks(WEB[0])

    def stop(self) -> None:
        for actor in self.actors:
            actor.stop()
        self._shop.close()
        self._service.close()

    def _advance(self, seconds: float) -> float:
        answer = pull(self._sandbox, "POST", "clock", {"advanceSeconds": round(seconds, 3)})
        if answer.status_code != 200:
            raise RuntimeError(f"the clock was refused: {answer.text}")
        return float(answer.json()["offsetSeconds"])

    # The play

    def play(self, beside: Future[None]) -> Figures:
        """Run the part with faults and kills, let the shop come to rest, and check the record."""
        order_faults(self._sandbox)
        for actor in self.actors:
            actor.start()
        self._endure(lambda: self._is_over() and beside.done(), "customers and kills", self._plan.longest)
        for actor in self.actors:
            actor.stop()
        beside.result()
        struck = end_faults(self._sandbox)
        self._come_to_rest()
        record = self._collect()
        violations = self._incidents(record) + check(record)
        facts = {
            "seconds": round(time.monotonic() - self._began, 1),
            "kills": self.killer.count,
            "faults": struck,
            "plans": Counter(self.town.plans),
        }
        return figures(self._plan, record, violations, facts)

    def _is_over(self) -> bool:
        if self.town.everybody_begun and self.killer.done:
            self.clockwork.speed = self._plan.speed * _HURRY
        for actor in self.actors:
            if actor.failure is not None:
                raise actor.failure
        return self.town.done and self.killer.done

    def _come_to_rest(self) -> None:
        for seconds in REST:
            self._bookkeeper.works()
            self._pass_quietly(seconds)
            self.bank.works()
        # Let reads find the bank's last transfers.
        self._pass_quietly(REST[0] + REST[1])
        # A read that ran during a whole quiet period plans its next read from an earlier time.
        # A payout that was refused last is looked up again after a minute, and may then be unknown.
        for _ in range(_MORE_REST):
            open_payouts = self._shop.count("paycheckout_payout", "status IN ('ready', 'sending')")
            if not (open_payouts or self._shop.count("paycheckout_checkout", "next_read_at IS NOT NULL")):
                return
            self._bookkeeper.works()
            self._pass_quietly(REST[-1])

    def _pass_quietly(self, seconds: float) -> None:
        self.clockwork.jump(seconds)
        self._quiet_since = time.monotonic()
        self._endure(self._is_quiet, "the shop to come to rest", 120 + 0.3 * self._plan.orders)

    def _is_quiet(self) -> bool:
        """Whether nothing has been due for longer than a read takes, whose claim hides that it is due."""
        if self._has_work():
            self._quiet_since = time.monotonic()
        return time.monotonic() - self._quiet_since > _QUIET

    def _has_work(self) -> bool:
        now = self.clockwork.now()
        return bool(
            self._shop.count("paycheckout_checkout", "next_read_at <= :now", now=now)
            or self._shop.count("paycheckout_payout", "due_at <= :now", now=now)
            or self._shop.count("paycheckout_event", "next_attempt_at <= :now", now=now)
            or self._service.count("webhook", "state = 'waiting' AND due_at <= :now", now=now)
        )

    def _collect(self) -> Record:
        tolerance = 4 * self._plan.speed + self.clockwork.longest_step
        self._processes.run(self._folder / "export.jsonl", "export", "--format", "jsonl")
        report = self._folder / "report"
        self._processes.run(report, "report", "--json", codes=(0, 1, 2))
        record = collect(self._at, self._folder, self.town.locations, tolerance)
        record["alarms"] = json.loads(report.read_text())["alarms"]
        (self._folder / "record.json").write_text(json.dumps(record))
        return record

    def _incidents(self, record: Record) -> list[Violation]:
        """The problems of the run itself, which weaken its result."""
        incidents = [*self._hung]
        if (len(record["shop_order"]), self.killer.count) != (self._plan.orders, self._plan.kills):
            incidents.append(
                f"{len(record['shop_order'])} orders were placed, {self.killer.count} processes were killed"
            )
        incidents += [f"{type(failure).__name__}: {failure}" for failure in self.town.failures()]
        incidents += self.town.strange
        incidents += [f"{name} ended by itself, code {code}" for name, code in self._processes.ended()]
        return [Violation("the_run_is_whole", what) for what in incidents]

    def _endure(self, condition: Callable[[], bool], what: str, seconds: float) -> None:
        """Wait for a condition, and continue after a timeout, because the record shows the reason better."""
        try:
            eventually(condition, seconds, 0.25)
        except AssertionError:
            self._hung.append(f"waited {seconds:.0f} s in vain for {what}")


def answers(url: str) -> bool:
    """Whether a page that reads the database answers that there is no such order."""
    try:
        return call("GET", f"{url}/orders/none", None).status_code == 404
    except NoAnswer:
        return False


def _write_settings(folder: Path, at: Databases, processes: Processes, sandbox: Sandbox) -> None:
    settings = {
        "clock_file": str(folder / "clock"),
        "effects_file": str(folder / "effects"),
        "config": {
            "SECRET_KEY": secrets.token_hex(16),
            "SQLALCHEMY_DATABASE_URI": at.shop,
            "SQLALCHEMY_ENGINE_OPTIONS": at.options,
            "PAYCHECKOUT_BASE_URL": sandbox.url,
            "PAYCHECKOUT_CLIENT_ID": "sandbox-client",
            "PAYCHECKOUT_CLIENT_SECRET": "sandbox-secret-0123456789abcdef",
            "PAYCHECKOUT_ACCESS_TOKEN": "sandbox-access-token",
            "PAYCHECKOUT_PUBLIC_URL": processes.url(WEB[0]),
            "PAYCHECKOUT_ALLOW_SANDBOX": True,
        },
        "own": at.own,
    }
    (folder / "settings.json").write_text(json.dumps(settings))
