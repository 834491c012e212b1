"""The calls of a shop, each defined once.

A call first checks its arguments and whether open work in the shop's session would block it, and then uses the parts of
the runtime. `PayCheckout` has those of `payments` and `payouts`; pages, commands and tasks have all of them, by
`operations.app.operations()`.
"""
