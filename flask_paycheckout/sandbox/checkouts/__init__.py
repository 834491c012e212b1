"""Checkouts, each a hosted page for one payment; its deposit exists once the customer has picked a method."""
