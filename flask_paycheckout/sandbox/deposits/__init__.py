"""Deposits: payments of customers, which exist from the choice of a method and are completed by the money."""
