"""Bundles of this Mac read directly, as far as exports have shown that they are read rightly."""
