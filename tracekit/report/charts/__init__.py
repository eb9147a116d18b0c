"""Charts as inline SVG: drawn from plain numbers, coloured by the page, read without script."""
