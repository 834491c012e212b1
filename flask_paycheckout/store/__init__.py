"""The tables on the shop's database, and every statement on them."""
