"""The commands `flask paycheckout ...`. Each parses its options, calls one function and prints the result."""

from flask_paycheckout.cli import audit as audit
from flask_paycheckout.cli import commands as commands
from flask_paycheckout.cli import export as export
from flask_paycheckout.cli import payouts as payouts
from flask_paycheckout.cli import prune as prune
from flask_paycheckout.cli.group import paycheckout as paycheckout
