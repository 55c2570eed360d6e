"""What the Makefile runs besides the library itself."""
