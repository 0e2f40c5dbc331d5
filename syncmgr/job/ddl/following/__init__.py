"""One DDL statement through all channels of a job: what it makes of each of them."""
