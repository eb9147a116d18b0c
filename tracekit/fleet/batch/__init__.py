"""Many recordings at once: in parallel, into one data set, whatever some of them are like."""
