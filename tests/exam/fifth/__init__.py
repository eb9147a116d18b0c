"""Ten problems and two healthy programs from public threads, played on the small Mac."""
