"""Fine-tuning jobs, with their events and checkpoints."""
