"""Models in and out: bases into storage, trained teams to folders and servers."""
