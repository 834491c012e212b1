"""A shop under fire: real processes and sockets, faults on order, processes killed at random, and an accountant.

    python -m tests.soak --orders 10000 --kills 500 --minutes 30 --database postgresql --seed 1

What runs: the sandbox as the payments service, with faults at its reads, creates and webhooks; a shop (`shop.py`) in
two web and two reconcile processes on one database; customers (`customers.py`); and a killer. At the end the faults
stop, the clock is moved past every window, and the shop comes to rest. Then `checker.py`, which knows nothing of
flask_paycheckout, compares what both sides wrote down. The sandbox is never killed: it is the witness. What can happen
to the service, it does on order: refuse, answer nothing, answer nonsense, answer nothing after the deed.

Time is the sandbox's virtual time, which runs a number of times faster than the machine's: its pages live for 15
minutes, and nobody waits that long for each. The soak moves the sandbox's clock on twice a second and writes the
offset that it answered to a file; the shop's processes read the time there. They do not ask the sandbox, since a clock
that fails and waits whenever the service does would be a fault that no shop has.
"""
