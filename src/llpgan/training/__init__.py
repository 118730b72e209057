"""What deep methods train with: networks, losses, objectives, batches, and the loop."""
