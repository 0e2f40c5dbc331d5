"""Where the files of tables are: on the local disk, or wherever the catalog's FileIO reaches."""
