"""Components adapt: one folder per pipeline step, and the records and contracts between them."""
