"""Fine-tuning jobs: checked to the last row, graded before training, handed over as a bundle that trains."""
