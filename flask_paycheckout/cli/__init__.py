"""The commands `flask paycheckout ...`. Each parses its options, calls one function and prints the result."""

from flask_paycheckout.cli.group import load_commands as load_commands, paycheckout as paycheckout
