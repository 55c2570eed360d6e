"""Models that grade: what is asked of them, which there are, and how thousands of answers are got from them."""
