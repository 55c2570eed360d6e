"""Programs of ours that run in the sandbox. They are sent as one text, without the imports of each other."""
