"""Loaded last by the process from which workers are forked.

Owns: that no worker's garbage collection looks at what all of them share: it would write into every page of it, and
each worker would have its own copy of 13 MiB.
Must not know: what is loaded.
"""

import gc

gc.collect()
gc.freeze()
