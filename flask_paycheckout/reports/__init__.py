"""Reports for the shop's staff: the explanation of one order, the list of orders, the state of the whole shop."""
