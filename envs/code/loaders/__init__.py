"""One module per data set: records as their publisher has them, to drafts of our problems."""
