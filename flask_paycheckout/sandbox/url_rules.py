"""URL rules that are cheap to make: what only building an address needs is compiled when one is first built.

Werkzeug compiles two functions for that per rule, which together took longer than everything else in making a sandbox;
the service's own addresses are hardly ever built.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from werkzeug.routing import Rule


class LazyRule(Rule):
    """A rule that compiles its builders on demand."""

    def _compile_builder(self, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        compile_builder = super()._compile_builder

        @cache
        def builder() -> Callable[..., tuple[str, str]]:
            return compile_builder(append_unknown)

        def build(rule: Rule, /, **values: object) -> tuple[str, str]:
            return builder()(rule, **values)

        return build
