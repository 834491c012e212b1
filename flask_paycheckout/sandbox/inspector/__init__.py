"""The inspector: pages for developers at `/` and below `/inspector/`, which show and control a sandbox.

Only browsers on this machine may read them, and only these pages can send their forms.
"""

# Importing a module of pages adds its routes to the blueprint.
from flask_paycheckout.sandbox.inspector import changes, pages
from flask_paycheckout.sandbox.inspector.blueprint import inspector

__all__ = ["changes", "inspector", "pages"]
