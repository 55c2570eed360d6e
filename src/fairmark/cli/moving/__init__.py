"""Moving in and out: from a hosted service, from files of other tools, from and into archives."""
