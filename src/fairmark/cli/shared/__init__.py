"""What commands share: exit codes, what they read, the database they work on, tables and progress."""
