"""Whether the lake equals its source: what is compared, and what follows from what was seen."""
