"""What this machine has: what it can do, its judge models, its sandbox images."""
