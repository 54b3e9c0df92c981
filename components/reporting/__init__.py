"""What a run did, as a text table and as one self-contained page."""
