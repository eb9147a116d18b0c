"""All series of a history on one page, night after night."""
