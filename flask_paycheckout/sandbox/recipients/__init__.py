"""Recipients: people and companies that receive money, each with a bank account."""
