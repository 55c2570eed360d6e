"""Graders as a reward server: by the contracts of Adaptive, OpenRLHF, NeMo Gym and LLaMA-Factory."""
