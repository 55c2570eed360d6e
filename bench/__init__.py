"""Speed against the peers, as ratios: `python -m bench`."""
