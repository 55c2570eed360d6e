"""The outside, untrusted code: what runs it, what it may do there, and what comes back. See docs/sandbox.md."""
