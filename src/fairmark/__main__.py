"""`python -m fairmark` is the command `fairmark`."""

from fairmark.cli import main

main()
