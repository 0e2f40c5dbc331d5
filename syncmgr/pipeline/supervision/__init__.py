"""What a run does about its worker, its errors, and the request that it ends."""
