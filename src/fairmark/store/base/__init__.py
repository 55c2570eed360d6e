"""What every table stands on: the database and its tables, ids, pages and positions, claims, contents on disk."""
