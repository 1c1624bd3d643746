"""TLS for tests: a certificate, who trusts it, and who has it."""

from __future__ import annotations

import socket
import ssl
import tempfile

from kernel.servers import echo

# Self-signed for localhost, 127.0.0.1 and ::1, good for a hundred years, and of no value to anybody:
# openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36525 -subj /CN=localhost \
#     -addext subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1 -addext basicConstraints=critical,CA:TRUE
_CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBrTCCAVSgAwIBAgIUOk7vcjG1X3y7XBbaRg63pn+lfpQwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEzMDE4MTMwOVoYDzIxMjYxMjAx
MTgxMzA5WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARj4daxl+L+0RpY1+hKsnUe1cMzkxFAUtuedfYp5OAa2Qef2InO4QOx
jCow9skGt+7+4wcBs/OegvDoQxNsVGhWo4GBMH8wHQYDVR0OBBYEFAtHwGj+FSBA
LHc4V8QPNAV+mJcnMB8GA1UdIwQYMBaAFAtHwGj+FSBALHc4V8QPNAV+mJcnMCwG
A1UdEQQlMCOCCWxvY2FsaG9zdIcEfwAAAYcQAAAAAAAAAAAAAAAAAAAAATAPBgNV
HRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0cAMEQCIENlXlo7uFb5RimIIc82Fbe6
yY7t1Ayvozz9DzJdShQJAiBTptiVvcxQgguWrnuoxqKFHKPZKiCVnB0bR4OzpcIR
hg==
-----END CERTIFICATE-----
"""
_KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgCbMvg4RlPGgV+Eeh
FINLUpfNOx38cdqcpJhCihEndyqhRANCAARj4daxl+L+0RpY1+hKsnUe1cMzkxFA
UtuedfYp5OAa2Qef2InO4QOxjCow9skGt+7+4wcBs/OegvDoQxNsVGhW
-----END PRIVATE KEY-----
"""


def trusting() -> ssl.SSLContext:
    """A client's context that trusts the certificate."""
    return ssl.create_default_context(cadata=_CERTIFICATE)


class TlsEcho:
    """Handles a server's end of a connection: a handshake, then an echo."""

    def __init__(self) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as pem:
            pem.write(_CERTIFICATE + _KEY)
            pem.flush()
            self._context.load_cert_chain(pem.name)

    def __call__(self, sock: socket.socket) -> None:
        """Serve one connection."""
        try:
            with self._context.wrap_socket(sock, server_side=True) as secure:
                echo(secure)
        except OSError:
            # The client gave up on us, as it should where it does not trust us.
            return
