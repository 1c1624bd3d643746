"""What the search does, version by version: which locks, which looks, which port."""

import errno
import socket

import pytest

from fourtuple.model.kernel import Kernel
from fourtuple.model.sockets import Socket
from fourtuple.model.versions import LEDGER, SERIES, version

pytestmark = pytest.mark.pure

SERVER = ("127.0.0.1", 80)
VERSIONS = [row.version for row in LEDGER]


def kernel_with(name: str, low: int, high: int, **settings: object) -> Kernel:
    kernel = Kernel(version(name))
    kernel.recording = True
    kernel.configure(ip_local_port_range=(low, high), **settings)
    return kernel


def connected(kernel: Kernel, destination: tuple[str, int] = SERVER) -> Socket:
    sock = kernel.socket()
    sock.connect(destination)
    return sock


def fill(kernel: Kernel, count: int) -> list[Socket]:
    return [connected(kernel) for _ in range(count)]


@pytest.mark.parametrize("name", VERSIONS)
def test_the_parity_of_the_lower_bound_goes_first_and_then_all_are_taken(name: str) -> None:
    kernel = kernel_with(name, 10001, 10040)
    ports = [sock.getsockname()[1] for sock in fill(kernel, 40)]
    assert {port % 2 for port in ports[:20]} == {1}
    assert sorted(ports) == list(range(10001, 10041))
    late = kernel.socket()
    with pytest.raises(OSError, match="assign") as caught:
        late.connect(SERVER)
    assert caught.value.errno == errno.EADDRNOTAVAIL
    assert late.trace.candidates == 40
    assert late.getsockname() == ("0.0.0.0", 0)


@pytest.mark.parametrize(
    ("name", "bind", "established", "walks", "hashes"),
    [
        # Of a search that tries all 40 ports in vain. A search of n hashes has one more, for the port offset.
        ("6.14", 40, 40, 0, 41),
        ("6.14+1", 40, 0, 40, 41),
        ("6.14+3", 40, 0, 40, 41),
        ("6.14+4", 0, 0, 80, 41),
        ("6.15-additive", 0, 0, 80, 41),
        ("6.15", 0, 0, 80, 2),
    ],
)
def test_what_each_patch_removes(name: str, bind: int, established: int, walks: int, hashes: int) -> None:
    kernel = kernel_with(name, 10000, 10039)
    fill(kernel, 40)
    late = kernel.socket()
    with pytest.raises(OSError, match="assign"):
        late.connect(SERVER)
    trace = late.trace
    assert (trace.bind_locks, trace.established_locks, trace.rcu_walks, trace.hashes) == (
        bind,
        established,
        walks,
        hashes,
    )
    assert trace.reschedules == 40


@pytest.mark.parametrize("name", SERIES)
def test_time_wait_costs_both_locks_in_every_version(name: str) -> None:
    kernel = kernel_with(name, 10000, 10000, tcp_tw_reuse=0)
    sock = connected(kernel)
    sock.close()
    kernel.peer_closes(sock)
    late = kernel.socket()
    with pytest.raises(OSError, match="assign"):
        late.connect(SERVER)
    assert (late.trace.bind_locks, late.trace.established_locks) == (1, 1)


def test_the_additive_hash_touches_fewer_lines() -> None:
    lines: list[int] = []
    for name in ("6.14+4", "6.15-additive"):
        kernel = kernel_with(name, 10000, 10399)
        fill(kernel, 400)
        late = kernel.socket()
        with pytest.raises(OSError, match="assign"):
            late.connect(SERVER)
        lines.append(late.trace.cache_lines)
    # Eight slots of the established hash to a line: of 400 lines 50 are left.
    assert lines[0] - lines[1] >= 300


def test_reserved_ports_cost_no_lock() -> None:
    kernel = kernel_with("6.14", 10000, 10009, ip_local_reserved_ports=set(range(10000, 10009)))
    sock = connected(kernel)
    assert sock.getsockname()[1] == 10009
    assert sock.trace.candidates == sock.trace.bind_locks == 1


def test_a_local_range_of_one_port_is_one_candidate() -> None:
    kernel = kernel_with("6.18", 10000, 10999)
    fill(kernel, 100)
    sock = kernel.socket()
    sock.setsockopt(socket.SOL_IP, 51, 10777 << 16 | 10777)
    sock.connect(SERVER)
    assert sock.getsockname()[1] == 10777
    assert sock.trace.candidates == 1
    again = kernel.socket()
    again.setsockopt(socket.SOL_IP, 51, 10777 << 16 | 10777)
    with pytest.raises(OSError, match="assign"):
        again.connect(SERVER)
    again.connect(("127.0.0.1", 81))


@pytest.mark.parametrize(("name", "free"), [("6.15", False), ("6.18", True)])
def test_a_poisoned_bucket_is_restored_since_6_18(name: str, free: bool) -> None:
    kernel = kernel_with(name, 10000, 10000)
    owner = kernel.socket()
    owner.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    owner.connect(SERVER)
    binder = kernel.socket()
    binder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    binder.bind(("127.0.0.1", 10000))
    with pytest.raises(OSError, match="assign"):
        connected(kernel, ("127.0.0.1", 81))
    binder.close()
    other = kernel.socket()
    if free:
        other.connect(("127.0.0.1", 81))
    else:
        with pytest.raises(OSError, match="assign"):
            other.connect(("127.0.0.1", 81))


@pytest.mark.parametrize(
    ("name", "settings", "seconds", "reused"),
    [
        ("6.18", {}, 0.9, False),
        ("6.18", {}, 1.1, True),
        ("6.12", {}, 1.1, True),
        ("6.18", {"tcp_tw_reuse": 0}, 30, False),
        ("6.18", {"tcp_timestamps": 0}, 30, False),
        ("6.18", {"tcp_tw_reuse": 0}, 61, True),
        ("6.18", {"tcp_tw_reuse_delay": 5000}, 4.9, False),
    ],
)
def test_time_wait_is_reused(name: str, settings: dict[str, int], seconds: float, reused: bool) -> None:
    kernel = kernel_with(name, 10000, 10000, **settings)
    sock = connected(kernel)
    sock.close()
    kernel.peer_closes(sock)
    kernel.advance(seconds)
    late = kernel.socket()
    if reused:
        late.connect(SERVER)
    else:
        with pytest.raises(OSError, match="assign"):
            late.connect(SERVER)


@pytest.mark.parametrize(("name", "reused"), [("6.8", True), ("6.12", False)])
def test_fin_wait2_is_not_reused_since_6_12(name: str, reused: bool) -> None:
    kernel = kernel_with(name, 10000, 10000)
    connected(kernel).close()
    kernel.advance(5)
    late = kernel.socket()
    if reused:
        late.connect(SERVER)
    else:
        with pytest.raises(OSError, match="assign"):
            late.connect(SERVER)


def test_a_bound_socket_takes_over_time_wait_at_once() -> None:
    kernel = kernel_with("6.18", 10000, 10000, tcp_tw_reuse=0)
    for _ in range(3):
        sock = kernel.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(("127.0.0.1", 10000))
        sock.connect(SERVER)
        sock.close()
        kernel.peer_closes(sock)


def test_steps_add_up_to_the_trace() -> None:
    kernel = kernel_with("6.14", 10000, 10039)
    fill(kernel, 30)
    sock = connected(kernel)
    actions = [step.action for step in sock.steps]
    assert actions.count("try port") == sock.trace.candidates
    assert actions.count("lock bind slot") == sock.trace.bind_locks
    assert actions.count("touch line") + actions.count("touch record") == sock.trace.cache_lines


@pytest.mark.parametrize("operation", ["connect", "bind", "listen", "getsockname", "getpeername", "setsockopt"])
def test_closed_sockets_name_the_operation(operation: str) -> None:
    sock = kernel_with("6.18", 10000, 10000).socket()
    sock.close()
    arguments = {"connect": (SERVER,), "bind": (SERVER,), "setsockopt": (1, 2, 1)}.get(operation, ())
    with pytest.raises(ValueError, match=f"^{operation}: this socket is closed"):
        getattr(sock, operation)(*arguments)


def test_everything_is_given_back() -> None:
    kernel = kernel_with("6.18", 10000, 10099)
    for sock in fill(kernel, 100):
        sock.close()
        kernel.peer_closes(sock)
    ended = kernel.advance(61)
    assert ended.freed == 200
    assert len({sock.getsockname()[1] for sock in fill(kernel, 100)}) == 100


@pytest.mark.parametrize("bounds", [(0, 10), (20, 10), (1, 70000)])
def test_impossible_ranges(bounds: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"^ip_local_port_range"):
        kernel_with("6.18", *bounds)
