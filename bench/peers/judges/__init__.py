"""The peers as judges: each takes URL CALLS AT_ONCE, asks that often, and prints what it cost as JSON.

They run in the environments of the scripts of the same name one folder up. Each is the fastest way that its own
documentation shows: asynchronous, its limit raised to AT_ONCE, its displays, logs and caches off where it has a switch.
One call goes before the time that counts, as it does on our side.
"""
