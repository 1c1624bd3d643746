"""stress-ng's workloads sockmany and sockdiag, with the same system calls for each operation and the same metrics."""
