"""A payments service whose every deposit is completed, and which watches who reads what at the same time."""

from __future__ import annotations

from collections import Counter
from threading import Condition

from tests.races.crowds import PATIENCE
from tests.scripted import number, success
from tests.socket_service import Call, SocketService
from tests.two_accounts import SECOND


class WatchingService(SocketService):
    """Answers nobody before it has heard from so many processes, told apart by their client ids."""

    def __init__(self, processes: int) -> None:
        super().__init__()
        self._processes = processes
        self._changed = Condition()
        self._under_way: Counter[str] = Counter()
        #: How often each deposit was read.
        self.read: Counter[str] = Counter()
        #: The account that asked for each deposit.
        self.signed: dict[str, str] = {}
        #: How many reads each process made.
        self.readers: Counter[str] = Counter()
        #: Deposits that were read while another read of them was under way.
        self.overlapping: list[str] = []

    def reads(self, call: Call) -> bytes:
        with self._changed:
            self.read[call.name] += 1
            process, second, _ = call.client.partition(f"-{SECOND}")
            self.signed[call.name] = SECOND if second else ""
            self.readers[process] += 1
            self._under_way[call.name] += 1
            if self._under_way[call.name] > 1:
                self.overlapping.append(call.name)
            self._changed.notify_all()
            assert self._changed.wait_for(lambda: len(self.readers) >= self._processes, PATIENCE)
            # Before the answer is on its way: the next read of a process that has it overlaps nothing.
            self._under_way[call.name] -= 1
        paid = {"depositId": call.name, "status": "completed", "inputCurrency": "USD", "inputAmount": number("12.50")}
        return success(paid)
