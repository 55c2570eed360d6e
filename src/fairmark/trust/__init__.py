"""Can a judge be trusted? Its verdicts against people's, and what moves it that should not.

A check is a plan of questions, the answers to them, and what both add up to: who keeps the answers can go on with it.
"""
