"""What a run does about its worker, its errors, and the wish that it ends."""
