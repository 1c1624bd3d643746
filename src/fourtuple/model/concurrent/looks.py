"""How to look without holding the lock under which one acts: the difference between the two forms of the tables."""

from __future__ import annotations

from .chains import Chains
from .epochs import Epochs
from .keys import Keys


class LockedLook:
    """Each look is under the lock of the chain, so the port search does not look before it has locked."""

    def __init__(self, chains: Chains, epochs: Epochs) -> None:
        self._chains = chains
        self._epochs = epochs

    def find(self, keys: Keys, port: int) -> int:
        """Return the handle of the four-tuple of ``keys`` with local port ``port``, or -ENOENT."""
        ports = keys.ports(port)
        chain = self._chains.established_chain(keys.addresses, ports)
        self._chains.lock(chain)
        result = self._chains.handle(self._chains.walk(chain, keys.addresses, ports))
        self._chains.unlock(chain)
        return result

    def taken(self, keys: Keys, port: int) -> bool:
        """Return whether it is plain, before any lock, that the port is taken."""
        return False


class RcuLook(LockedLook):
    """A look takes no lock and writes no more than its worker's own word."""

    def find(self, keys: Keys, port: int) -> int:
        """Return the handle of the four-tuple of ``keys`` with local port ``port``, or -ENOENT."""
        ports = keys.ports(port)
        self._epochs.enter()
        chain = self._chains.established_chain(keys.addresses, ports)
        result = self._chains.handle(self._chains.walk(chain, keys.addresses, ports))
        self._epochs.leave()
        return result

    def taken(self, keys: Keys, port: int) -> bool:
        """Return whether it is plain, before any lock, that the port is taken."""
        ports = keys.ports(port)
        self._epochs.enter()
        taken = (
            self._chains.walk(self._chains.bind_chain(port), 0, port) != 0
            and self._chains.walk(self._chains.established_chain(keys.addresses, ports), keys.addresses, ports) != 0
        )
        self._epochs.leave()
        return taken
