"""A soak test of a shop: real processes and sockets, injected faults, processes killed at random, and an audit.

    python -m tests.soak --orders 10000 --kills 500 --minutes 30 --database postgresql --seed 1

The run has the sandbox as the payments service, with faults at its reads, creates and webhooks; a shop (`shop.py`) in
two web and two reconcile processes on one database; customers (`customers.py`); and a killer. At the end the faults
stop, the clock is moved past every window, and the shop comes to rest. Then `checker.py`, which knows nothing of
flask_paycheckout, compares the records of both sides. The sandbox is never killed, because its records are the
reference. It injects the service's failures: refusals, no answer, malformed answers, and no answer after the effect.

Time is the sandbox's virtual time, which runs a number of times faster than the machine's: its pages live for 15
minutes, and the run cannot wait that long for each. The soak advances the sandbox's clock twice a second and writes the
offset from its answer to a file, where the shop's processes read the time. They do not call the sandbox for it, because
a clock that fails or hangs with the service would be a fault that no shop has.
"""
