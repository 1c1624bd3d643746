"""Two sides of a change compared, metric by metric: pure, from values to verdicts."""
