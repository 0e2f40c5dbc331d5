"""The worker process of a job: it reads the source, stages rows and cuts epochs."""
