"""Code: a coder writes a program, a tester writes tests for it (see README.md)."""
