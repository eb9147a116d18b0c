"""A gate on nights: which night, where its reports go, and who is told."""
