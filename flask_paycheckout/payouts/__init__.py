"""Money out: payouts and refunds, from the shop's call to the service's answer."""
