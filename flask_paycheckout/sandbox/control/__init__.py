"""Control over a sandbox that is not part of the service: control interface, customer's actions and hosted page."""
