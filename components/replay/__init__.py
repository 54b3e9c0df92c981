"""An episode of a past iteration again, from its seeds: are tokens, rewards and picks the same?"""
