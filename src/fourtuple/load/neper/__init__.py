"""neper's programs tcp_crr, tcp_rr and tcp_stream: flags, control protocol, figures, on the event loops of ``load``."""
