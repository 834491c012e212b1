"""How requests are read and answers are written: the conventions that every operation of the service shares."""
