"""Graders as a reward server, by the contract of Adaptive's, and of OpenRLHF's remote reward models beside it."""
