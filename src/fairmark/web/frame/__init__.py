"""What every page stands in: sessions and forms, templates and files, how values are shown."""
