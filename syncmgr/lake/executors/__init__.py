"""Rows and files between the frontend and Spark's executors, which may see none of its disks."""
