"""fairmark runs: what stands in this machine's store or on a server, and what `fairmark eval` wrote."""
