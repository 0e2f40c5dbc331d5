"""The doors: the MySQL protocol server and its sessions."""
