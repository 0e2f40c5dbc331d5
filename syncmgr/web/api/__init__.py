"""The API of HTTP: what each route answers."""
