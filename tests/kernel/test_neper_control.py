"""The control connections over real sockets, against peers that say what neper's say, or anything else."""

from __future__ import annotations

import socket
import struct
from collections.abc import Generator
from contextlib import closing

import pytest

from fourtuple.linux import sockopt
from fourtuple.load.neper import control_client, control_server
from fourtuple.load.neper.control_client import ControlClient, Interrupted, dial
from fourtuple.load.neper.control_server import ControlServer
from fourtuple.load.neper.errors import ControlBroken, NoServer
from fourtuple.load.neper.stopping import Bell
from fourtuple.load.neper.wire import Kind, Message

pytestmark = pytest.mark.usefixtures("netns")

PORT = 12866
SECRET = b"neper tcp_rr 201703241250"
LAYOUT = struct.Struct("!32siIIIiIQQ")
ANSWER = 10.0  # seconds until anything here has an answer, or the test fails


def message(kind: int, *, secret: bytes = b"", magic: int = 42, rate: int = 0) -> bytes:
    return LAYOUT.pack(secret, magic, kind, 1, 1, 10, 0, 0, rate)


HELLO = message(1, secret=SECRET)


@pytest.fixture
def bell() -> Generator[Bell, None, None]:
    with closing(Bell()) as bell:
        yield bell


class Server:
    """Our server, and peers of it."""

    def __init__(self, clients: int = 1) -> None:
        listener = socket.create_server(("127.0.0.1", PORT))
        self.reports: list[str] = []
        ack = Message(Kind.ACK, 42, threads=2, flows=3, test_length=-5)
        self.control = ControlServer(listener, SECRET, ack, clients=clients, report=self.reports.append)
        self.bell = Bell()
        self.peers: list[socket.socket] = []

    def peer(self, data: bytes = b"") -> socket.socket:
        peer = socket.create_connection(("127.0.0.1", PORT), timeout=ANSWER)
        self.peers.append(peer)
        peer.sendall(data)
        return peer

    def turn(self) -> None:
        """Look once, when there is something to see."""
        assert self.bell.wait((self.control,), ANSWER)
        self.control.look()

    def turn_until_joined(self, clients: int) -> None:
        while self.control.joined < clients:
            self.turn()

    def turn_until_invalid(self, count: int) -> None:
        while self.control.invalid_secrets < count:
            self.turn()

    def turn_until_over(self) -> None:
        while not self.control.over:
            self.turn()

    def close(self) -> None:
        self.control.close()
        self.bell.close()
        for peer in self.peers:
            peer.close()


@pytest.fixture
def server() -> Generator[Server, None, None]:
    with closing(Server()) as server:
        yield server


def received(peer: socket.socket) -> tuple[int, ...]:
    return LAYOUT.unpack(peer.recv(72, socket.MSG_WAITALL))[1:]


def test_a_client_joins_finishes_and_is_told_bye(server: Server) -> None:
    peer = server.peer(HELLO)
    server.turn_until_joined(1)
    assert received(peer) == (42, Kind.ACK, 2, 3, -5, 0, 0, 0)
    assert not server.control.over
    peer.sendall(message(3, rate=12345))
    server.turn_until_over()
    assert server.control.remote_rate == 12345
    server.control.say_bye(777)
    assert received(peer) == (42, Kind.BYE, 0, 0, 0, 0, 0, 777)
    assert server.reports == []


def test_a_hello_may_come_in_pieces_and_done_along_with_it(server: Server) -> None:
    peer = server.peer(HELLO[:36])
    server.turn()
    server.turn()
    assert server.control.joined == 0
    peer.sendall(HELLO[36:] + message(3, rate=5))
    server.turn_until_over()
    assert server.control.remote_rate == 5


@pytest.mark.parametrize(
    "said",
    [
        message(1, secret=b"neper tcp_stream 201703241300"),
        message(1),
        message(3, secret=SECRET),
        message(9, secret=SECRET),
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".ljust(100, b"x"),
    ],
    ids=["another program", "no secret", "DONE", "no type", "HTTP"],
)
def test_whoever_has_not_the_secret_is_counted_and_dismissed(server: Server, said: bytes) -> None:
    stranger = server.peer(said)
    server.turn_until_invalid(1)
    # A reset, if what it said was not read to its end.
    try:
        assert stranger.recv(1) == b""
    except ConnectionResetError:
        assert len(said) > 72
    client = server.peer(HELLO)
    server.turn_until_joined(1)
    assert received(client)[1] == Kind.ACK


@pytest.mark.parametrize("said", [b"", HELLO[:10]], ids=["nothing", "10 bytes"])
def test_a_connection_that_ends_before_its_hello_is_counted(server: Server, said: bytes) -> None:
    server.peer(said).close()
    server.turn_until_invalid(1)
    assert server.control.joined == 0


def test_silence_keeps_nobody_waiting(server: Server) -> None:
    server.peer()
    server.peer(HELLO[:71])
    client = server.peer(HELLO)
    server.turn_until_joined(1)
    assert received(client)[1] == Kind.ACK


def test_silence_ends(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    assert server.control.patience == float("inf")
    monkeypatch.setattr(control_server, "HELLO_WITHIN", 0.0)
    silent = server.peer()
    server.turn()
    assert silent.recv(1) == b""
    assert len(server.reports) == 1
    assert "connected to the control port and said no HELLO within 0 s" in server.reports[0]
    assert server.control.patience == float("inf")


def test_the_doors_close_behind_the_last_client() -> None:
    with closing(Server(clients=2)) as server:
        late = server.peer()
        first, second = server.peer(HELLO), server.peer(HELLO)
        server.turn_until_joined(2)
        assert late.recv(1) == b""
        with pytest.raises(ConnectionRefusedError):
            server.peer()
        second.sendall(message(3, rate=2))
        first.sendall(message(3, rate=1))
        server.turn_until_over()
        assert server.control.remote_rate == 2


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (b"", "it closed the control connection"),
        (message(3)[:20], "it closed the control connection"),
        (message(4), "DONE with magic 42 was due, and BYE with magic 42 came"),
        (message(3, magic=7), "DONE with magic 42 was due, and DONE with magic 7 came"),
        (b"x" * 72, "a control message of type"),
    ],
    ids=["gone", "20 bytes", "BYE", "another magic", "garbage"],
)
def test_a_client_that_goes_wrong_has_finished(server: Server, said: bytes, reason: str) -> None:
    peer = server.peer(HELLO)
    server.turn_until_joined(1)
    received(peer)
    peer.sendall(said)
    peer.close()
    server.turn_until_over()
    assert server.control.remote_rate == 0
    assert reason in server.reports[0]


def test_a_reset_is_not_fatal(server: Server) -> None:
    peer = server.peer(HELLO)
    server.turn_until_joined(1)
    sockopt.reset_on_close(peer)
    peer.close()
    server.turn_until_over()
    assert "Connection reset by peer" in server.reports[0]
    server.control.say_bye(1)
    assert "cannot be told BYE" in server.reports[1]


class Client:
    """Our client, and the peer that it has found."""

    def __init__(self, bell: Bell) -> None:
        with socket.create_server(("127.0.0.1", PORT)) as listener:
            address = ("127.0.0.1", PORT)
            sock, self.family, self.address = dial([(socket.AF_INET, address)], "there", [], [], bell)
            self.peer, _ = listener.accept()
        self.control = ControlClient(sock, 42, bell)

    def close(self) -> None:
        self.control.close()
        self.peer.close()


@pytest.fixture
def client(bell: Bell) -> Generator[Client, None, None]:
    with closing(Client(bell)) as client:
        yield client


def test_a_client_says_hello_and_done(client: Client) -> None:
    client.peer.sendall(message(2)[:40])
    client.peer.sendall(message(2)[40:])
    client.control.start(Message(Kind.HELLO, 42, SECRET, threads=1, flows=1, test_length=10))
    assert client.peer.recv(100) == HELLO
    client.peer.sendall(message(4, rate=9) + b"more")
    assert client.control.finish(1 << 40, signals=0).rate == 9
    assert received(client.peer) == (42, Kind.DONE, 0, 0, 0, 0, 0, 1 << 40)
    assert client.peer.recv(1) == b""


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (message(4), "the server's answer to HELLO is wrong: ACK with magic 42 was due, and BYE with magic 42 came"),
        (message(2, magic=1), "ACK with magic 42 was due, and ACK with magic 1 came"),
        (message(2)[:40], "ended the control connection 40 of 72 bytes into its ACK"),
        (b"", "ended the control connection 0 of 72 bytes into its ACK"),
        (b"\xff" * 72, "a control message of type 4294967295"),
    ],
)
def test_a_wrong_ack_is_told(client: Client, said: bytes, reason: str) -> None:
    client.peer.sendall(said)
    client.peer.shutdown(socket.SHUT_WR)
    with pytest.raises(ControlBroken) as raised:
        client.control.start(Message(Kind.HELLO, 42, SECRET))
    assert reason in str(raised.value.strerror)


def test_a_server_that_does_not_answer_is_not_waited_for(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_client, "ACK_WITHIN", 0.0)
    with pytest.raises(ControlBroken, match=r"did not answer HELLO within 0 s"):
        client.control.start(Message(Kind.HELLO, 42, SECRET))
    monkeypatch.setattr(control_client, "BYE_WITHIN", 0.0)
    with pytest.raises(ControlBroken, match=r"did not answer DONE within 0 s"):
        client.control.finish(1, signals=0)


def test_a_signal_ends_the_wait_for_ack(client: Client, bell: Bell) -> None:
    bell.tell(15)
    with pytest.raises(Interrupted, match=r"stopped by a signal before the server answered"):
        client.control.start(Message(Kind.HELLO, 42, SECRET))


@pytest.mark.parametrize("reset", [False, True])
def test_a_server_that_goes_is_noticed(client: Client, bell: Bell, reset: bool) -> None:
    assert not client.control.over
    if reset:
        sockopt.reset_on_close(client.peer)
    client.peer.close()
    assert bell.wait((client.control,), ANSWER)
    client.control.look()
    assert client.control.over
    expected = "broke the control connection (Connection reset by peer)" if reset else "closed the control connection"
    assert client.control.trouble == f"the server {expected}"


def test_a_server_is_tried_until_it_is_there_or_patience_ends(bell: Bell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_client, "PATIENCE", 0.2)
    with pytest.raises(NoServer, match=r"no server at there \(Connection refused, for 0 s\): start the same program"):
        dial([(socket.AF_INET, ("127.0.0.1", PORT))], "there", [], [], bell)


def test_what_does_not_pass_ends_the_tries_at_once(bell: Bell) -> None:
    with pytest.raises(NoServer, match=r"no server at there \(Network is unreachable, for 0 s\)"):
        dial([(socket.AF_INET, ("192.0.2.1", PORT))], "there", [], [], bell)


def test_the_next_address_is_tried_and_the_source_is_kept(bell: Bell) -> None:
    addresses = [(socket.AF_INET6, ("::1", PORT, 0, 0)), (socket.AF_INET, ("127.0.0.1", PORT))]
    sources = [(socket.AF_INET6, ("::1", 0, 0, 0)), (socket.AF_INET, ("127.0.0.9", 0))]
    with socket.create_server(("127.0.0.1", PORT)):
        sock, family, address = dial(addresses, "there", [], sources, bell)
    with sock:
        assert (family, address) == addresses[1]
        assert sock.getsockname()[0] == "127.0.0.9"
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
