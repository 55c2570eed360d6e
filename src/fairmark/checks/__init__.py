"""Judge checks and hacking reports in a store: asked for, worked off in the background, and shown where
judges are used."""
