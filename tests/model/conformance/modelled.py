"""The model as a host."""

from __future__ import annotations

from typing import cast

from fourtuple.model.kernel import Kernel
from fourtuple.model.sockets import Socket
from fourtuple.model.versions import version
from model.conformance.hosts import V4, V6, Addresses, Sock


class ModelHost:
    """A modelled 6.18 with the addresses that the live host has."""

    def __init__(self, addresses: Addresses, seed: int = 1) -> None:
        self.addresses = addresses
        self._kernel = Kernel(version("6.18"), memory=1 << 30, seed=seed)
        for address in (*V4.others, *V6.others):
            self._kernel.add_address(address)
        self.socket = self._kernel.socket
        self.configure = self._kernel.configure

    def peer_closes(self, sock: Sock) -> None:
        """Have the other end of the connection close."""
        self._kernel.peer_closes(cast("Socket", sock))

    def outlast(self, milliseconds: int) -> None:
        """Turn the model's clock."""
        self._kernel.advance(milliseconds / 1000)
