"""Calls to the payments service: limits on their number and time, the circuit breaker, and the record of failures."""
