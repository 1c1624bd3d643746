import pytest

from fourtuple.model.sizes import Sizes, sizes
from fourtuple.model.versions import version

pytestmark = pytest.mark.pure


def test_a_machine_of_24_gib_has_262144_established_slots() -> None:
    # As a kernel with 24,684,096 kB says in tcp_ehash_entries.
    assert sizes(version("6.18"), 24 << 30, cpus=2) == Sizes(bind=65536, established=262144, locks=1024)


def test_a_small_machine_has_as_many_bind_slots_as_established_ones() -> None:
    assert sizes(version("5.11"), 1 << 30, cpus=3) == Sizes(bind=8192, established=8192, locks=128)


def test_a_large_machine_meets_the_limits() -> None:
    assert sizes(version("6.14"), 1 << 40, cpus=64) == Sizes(bind=65536, established=524288, locks=2048)


@pytest.mark.parametrize("field", ["bind", "established", "locks"])
def test_sizes_are_powers_of_two(field: str) -> None:
    with pytest.raises(ValueError, match=rf"^{field}: .* not 1000; try 1024"):
        Sizes(**{"bind": 64, "established": 64, "locks": 64, field: 1000})


def test_a_machine_has_memory_and_processors() -> None:
    with pytest.raises(ValueError, match=r"^memory"):
        sizes(version("6.18"), 1000)
    with pytest.raises(ValueError, match=r"^cpus"):
        sizes(version("6.18"), 1 << 30, cpus=0)
