"""What the demo and the benchmark of connect() under pressure measure and how they show it."""
