"""What the frontend remembers: jobs, intents, epochs, schemas."""
