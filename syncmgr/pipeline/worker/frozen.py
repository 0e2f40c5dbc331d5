"""Loaded last by the process from which workers are forked.

Owns: that workers share its memory: modules that each would otherwise load itself, since others import them only on
first use (14 MiB), and garbage collections that would write into every page (13 MiB).
Must not know: what else is loaded.
"""

import encodings.idna  # noqa: F401 - of names of hosts
import gc

import numpy.ma  # noqa: F401 - pyarrow's, at the first array

gc.collect()
gc.freeze()
