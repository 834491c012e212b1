"""Control of a sandbox: the calls below `/_sandbox/`, the hosted page of a checkout, and the events that both cause."""

# Importing a module of calls adds them to the blueprint.
from flask_paycheckout.sandbox.control import (
    account_calls,
    customer_calls,
    description,
    message_calls,
    state_calls,
    worlds,
)
from flask_paycheckout.sandbox.control.calls import control

__all__ = ["account_calls", "control", "customer_calls", "description", "message_calls", "state_calls", "worlds"]
