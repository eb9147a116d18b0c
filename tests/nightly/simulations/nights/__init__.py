"""Made nights, the gates that judge them, and how often these err."""
