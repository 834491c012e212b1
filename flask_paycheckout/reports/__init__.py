"""Answers to a person's questions: one order's explanation, all orders, the whole shop."""
