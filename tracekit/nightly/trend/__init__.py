"""All series of a history on one page: what became of them, night after night."""
