"""Control over a world from outside the service: control interface, the customer's actions, and the hosted page."""
