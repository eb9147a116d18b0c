"""What every room uses: errors, units, run folders, files, processes."""
