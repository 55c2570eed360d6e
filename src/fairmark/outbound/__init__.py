"""HTTP to the outside, for judges and reward servers alike: limits, and why a server failed in words."""
