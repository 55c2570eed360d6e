"""Files of other tools: recognised by what is in them, and turned into an archive, which is loaded like any other."""
