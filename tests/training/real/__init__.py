"""Training for real, with TRL and a tiny model on a CPU: scripts that run in an environment of their own."""
