"""Reading requests and writing answers: conventions that all operations of the service share."""
