"""What a bundle says of itself: its document, how runs went, names, the table of contents."""
