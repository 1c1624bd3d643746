"""What others have measured, read: run folders, the robot's results and mails, stress-ng, neper, perf."""
