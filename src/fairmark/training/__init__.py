"""A worker: takes reinforcement jobs of a server, trains them here with TRL, and serves the models it made."""
