"""What the frontend stores: jobs, intents, epochs, schemas."""
