"""Recipients: the people and companies that money is paid out to, each with a bank account."""
