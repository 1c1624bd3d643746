"""Measurements: runs, monitors, A/B, comparisons and their reports."""
