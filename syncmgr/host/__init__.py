"""What a frontend keeps on its machine: folders and their locks, private files, certificates, logs."""
