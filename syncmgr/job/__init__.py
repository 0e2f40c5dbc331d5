"""The core: what a sync job is and how it decides. Pure values, tables and functions; no IO."""
