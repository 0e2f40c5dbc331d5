"""One running job: worker process, segments, epochs, commits."""
