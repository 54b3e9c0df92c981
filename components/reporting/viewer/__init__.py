"""The sibling viewer: every episode as a tree of prompts and candidates, in one page."""
