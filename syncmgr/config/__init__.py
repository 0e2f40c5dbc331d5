"""The settings: one table, how a value is checked, and what conf/fe.conf says."""
