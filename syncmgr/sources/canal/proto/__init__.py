"""Canal's messages: the .proto texts are ours, the modules beside them are generated (docs/contributing.md)."""
