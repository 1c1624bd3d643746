"""Cases of what the kernel does with local ports, written once and run on the live kernel and on the model."""

import pytest

# Their assertions are as telling as those of a test's own module.
pytest.register_assert_rewrite(f"{__name__}.cases")
