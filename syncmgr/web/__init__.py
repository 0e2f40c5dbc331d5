"""The door for HTTP: metrics, health, and what Doris' clients ask of a frontend."""
