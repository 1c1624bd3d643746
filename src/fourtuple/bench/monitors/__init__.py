"""What is sampled while a workload runs, one monitor a module."""
