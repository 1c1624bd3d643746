"""Which kernel does what in the search for a port: a ledger of commits, and the versions made of its features.

The search asks features, never versions. A version is named after the release that brought its last feature; ``6.14+1``
to ``6.14+4`` are the four patches of "tcp: scale connect() under pressure" one at a time, and ``6.15-additive`` is
what 6.15 was before its hash was computed once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum


class Perturbation(IntEnum):
    """What moves the start of the search on from one connect() to the next."""

    HINT = 0
    TABLE_256 = 1
    TABLE_65536 = 2


class Look(IntEnum):
    """Where RCU looks for the four-tuple before a lock is taken."""

    NEVER = 0
    IN_CHECK = 1
    IN_SEARCH = 2


class EstablishedHash(IntEnum):
    """How the hash of a candidate is made."""

    WHOLE = 0
    ADDITIVE = 1
    ONCE = 2


@dataclass(frozen=True, slots=True)
class Features:
    """What the operations ask. The defaults are 5.11's.

    ``perturbation``, ``look`` and ``hash``: see their classes. ``reseeded``: the port offset is new every 10 s.
    ``address_buckets``: the second bind hash, by port and address. ``local_range``: IP_LOCAL_PORT_RANGE.
    ``local_range_by_one``: such a range is scanned with step 1 in one pass. ``strict_fin_wait2``: no reuse from
    FIN_WAIT2. ``reuse_delay``: tcp_tw_reuse_delay, else a change of the second. ``quick_any_check``: the faster test of
    an IPv6 wildcard in bind(), which changes no counter here. ``buckets_by_rcu``: bind buckets are freed after a grace
    period. ``many_locks``: 1024 established locks a node at least. ``restored_buckets``: a bucket whose last explicit
    owner left is connect()'s again. ``step_width``: ip_local_port_step_width.
    """

    perturbation: Perturbation = Perturbation.HINT
    reseeded: bool = False
    address_buckets: bool = False
    local_range: bool = False
    local_range_by_one: bool = False
    strict_fin_wait2: bool = False
    reuse_delay: bool = False
    look: Look = Look.NEVER
    quick_any_check: bool = False
    buckets_by_rcu: bool = False
    hash: EstablishedHash = EstablishedHash.WHOLE
    many_locks: bool = False
    restored_buckets: bool = False
    step_width: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the ledger: the version that starts with it, the kernel commits, and what they change."""

    version: str
    commits: tuple[tuple[str, str], ...]
    change: str
    features: Features


def _ledger() -> tuple[Row, ...]:
    rows: list[Row] = []
    features = Features()

    def row(version: str, change: str, *commits: tuple[str, str], **changed: object) -> None:
        nonlocal features
        features = replace(features, **changed)  # pyright: ignore[reportArgumentType] (replace checks the names)
        rows.append(Row(version, commits, change, features))

    row(
        "5.11",
        "one global hint moves on by what the last search tried; the parity of the lower bound goes first",
        ("07f4c90062f8", "tcp/dccp: try to not exhaust ip_local_port_range in connect()"),
    )
    row(
        "5.12",
        "256 hints, chosen by a hash of the destination; the first try is passed on in 1 of 16 cases",
        ("190cc82489f4", "tcp: change source port randomizarion at connect() time"),
        ("c579bd1b4021", "tcp: add some entropy in __inet_hash_connect()"),
        perturbation=Perturbation.TABLE_256,
    )
    row(
        "5.18",
        "65536 hints, random increments, and a new offset every 10 s",
        ("9e9b70ae923b", "tcp: use different parts of the port_offset for index and offset"),
        ("4dfa9b438ee3", "tcp: resalt the secret every 10 seconds"),
        ("ca7af0402550", "tcp: add small random increments to the source port"),
        ("4c2c8f03a5ab", "tcp: increase source port perturb table to 2^16"),
        ("e8161345ddbb", "tcp: drop the hash_32() part from the index calculation"),
        perturbation=Perturbation.TABLE_65536,
        reseeded=True,
    )
    row(
        "6.1",
        "a second bind hash, by port and address: a lock more for each connection",
        ("28044fc1d495", "net: Add a bhash2 table hashed by port and address"),
        address_buckets=True,
    )
    row(
        "6.3",
        "a socket can bring a port range of its own",
        ("91d0b78c5177", "inet: Add IP_LOCAL_PORT_RANGE socket option"),
        local_range=True,
    )
    row(
        "6.8",
        "such a range is scanned port by port, in one pass",
        ("41db7626b732", "inet: returns a bool from inet_sk_get_local_port_range()"),
        ("207184853dbd", "tcp/dccp: change source port selection at connect() time"),
        local_range_by_one=True,
    )
    row(
        "6.12",
        "no port is reused from FIN_WAIT2",
        ("0d9e5df4a257", "tcp: avoid reusing FIN_WAIT2 when trying to find port in connect() process"),
        strict_fin_wait2=True,
    )
    row(
        "6.14",
        "TIME_WAIT is reused after tcp_tw_reuse_delay milliseconds",
        ("19ce8cd30465", "tcp: Measure TIME-WAIT reuse delay with millisecond precision"),
        ("ca6a6f93867a", "tcp: Add sysctl to configure TIME-WAIT reuse delay"),
        reuse_delay=True,
    )
    row(
        "6.14+1",
        "a taken four-tuple is seen under RCU, before the established lock",
        ("ae9d5b19b322", "tcp: use RCU in __inet{6}_check_established()"),
        look=Look.IN_CHECK,
    )
    row(
        "6.14+2",
        "a cheaper test of the IPv6 wildcard in bind()",
        ("ca79d80b0b9f", "tcp: optimize inet_use_bhash2_on_bind()"),
        quick_any_check=True,
    )
    row(
        "6.14+3",
        "bind buckets may be walked under RCU: freed after a grace period",
        ("d186f405fdf4", "tcp: add RCU management to inet_bind_bucket"),
        buckets_by_rcu=True,
    )
    row(
        "6.14+4",
        "a taken port is seen under RCU, before the bind bucket's lock too",
        ("86c2bc293b81", "tcp: use RCU lookup in __inet_hash_connect()"),
        look=Look.IN_SEARCH,
    )
    row(
        "6.15-additive",
        "the hash of the four-tuple is the port plus a hash of the rest: neighbours lie together",
        ("9544d60a2605", "inet: change lport contribution to inet_ehashfn() and inet6_ehashfn()"),
        hash=EstablishedHash.ADDITIVE,
    )
    row(
        "6.15",
        "that hash is computed once for each connect(); more established locks",
        ("d4438ce68bf1", "inet: call inet6_ehashfn() once from inet6_hash_connect()"),
        ("f8ece40786c9", "tcp: bring back NUMA dispersion in inet_ehash_locks_alloc()"),
        hash=EstablishedHash.ONCE,
        many_locks=True,
    )
    row(
        "6.18",
        "a bucket returns to connect() when its last explicit owner has left",
        ("d57f4b874946", "tcp: Update bind bucket state on port release"),
        restored_buckets=True,
    )
    row(
        "7.1",
        "ip_local_port_step_width: a random step coprime to the range",
        ("7da62262ec96", "inet: add ip_local_port_step_width sysctl to improve port usage distribution"),
        step_width=True,
    )
    return tuple(rows)


LEDGER = _ledger()
"""Every version, oldest first."""

SERIES = ("6.14", "6.14+1", "6.14+2", "6.14+3", "6.14+4", "6.15-additive", "6.15")
"""The versions that show the RCU series and its two follow-ups patch by patch."""


def version(name: str) -> Features:
    """The features of the version ``name``. Raises ValueError, which lists the known ones, for any other."""
    for row in LEDGER:
        if row.version == name:
            return row.features
    raise ValueError(f"version: {name!r} is not modelled; known are {', '.join(row.version for row in LEDGER)}")
