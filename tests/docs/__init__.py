import pytest

pytest.register_assert_rewrite("tests.docs.merchant", "tests.docs.scenarios")
