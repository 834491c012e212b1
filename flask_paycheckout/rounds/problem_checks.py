"""Checks of orders' problems: the functions of the shop that failed for an order are called again."""

from __future__ import annotations

from dataclasses import dataclass

from flask_paycheckout.books.customers import Customers
from flask_paycheckout.checkouts.order_problems import OrderProblem, OrderProblems, ProblemKind
from flask_paycheckout.checkouts.shop_answers import ShopAnswers
from flask_paycheckout.checkouts.start import Starter
from flask_paycheckout.errors import OrderNotPayable, OrderSettled
from flask_paycheckout.wiring import Wiring
from flask_paycheckout.wiring.installation import request_base


@dataclass(frozen=True)
class ProblemChecks:
    """Calls the functions of one app's shop again that failed for an order."""

    wiring: Wiring
    problems: OrderProblems
    answers: ShopAnswers
    starter: Starter
    customers: Customers

    def is_over(self, problem: OrderProblem) -> bool | None:
        """Whether the cause of a problem is gone; None if only a person's next try can show it."""
        if problem.kind in (ProblemKind.PERMISSION, ProblemKind.FIND_ORDERS):
            # No person is logged in or searches here, so the next person at the owner's pages must show it.
            return None
        if problem.kind == ProblemKind.DESCRIBE_ORDERS:
            return self.customers.describes(problem.order_id)
        if problem.kind == ProblemKind.UNAVAILABLE and problem not in self.problems.of_order(problem.order_id):
            return True
        of_service = problem.kind in (ProblemKind.REFUSED, ProblemKind.UNAVAILABLE)
        try:
            if problem.kind == ProblemKind.ORDER_URL:
                # The function makes an address, for which it has a request elsewhere too.
                app = self.wiring.app
                with app.test_request_context(base_url=request_base(self.wiring.settings, app.config)):
                    self.answers.ask_order_url(problem.order_id)
                return True
            due = self.starter.due_now(problem.order_id)
        except (OrderNotPayable, OrderSettled):
            return True
        except Exception:
            return None if of_service else False
        return True if not of_service or (problem.kind == ProblemKind.REFUSED and str(due) != problem.due) else None
