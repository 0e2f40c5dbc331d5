"""Canal's messages: the .proto texts are ours, the modules next to them are generated (docs/contributing.md)."""
