"""Runs: one workload executed once, and the folder that it leaves."""
