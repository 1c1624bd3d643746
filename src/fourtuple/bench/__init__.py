"""Measurements: what a workload costs under the kernel's choice of ports and under fourtuple's."""
