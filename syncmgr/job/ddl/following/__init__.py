"""One DDL statement applied to all channels of a job: what it makes of each of them."""
