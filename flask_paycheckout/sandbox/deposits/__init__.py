"""Deposits: money on its way from a customer, read by the merchant, completed by a payment."""
