"""Commands that ask whether a judge can be trusted."""
