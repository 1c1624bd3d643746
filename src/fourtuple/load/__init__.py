"""Workloads: processes that hold connections, and the servers they connect to."""
