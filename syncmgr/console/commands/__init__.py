"""The commands of the protocol (COM_QUERY, COM_STMT_PREPARE, ...) and what each answers."""
