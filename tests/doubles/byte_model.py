"""A tiny model that reads and writes any text, byte by byte: a `file://` base for tests.

Models that the configuration makes (`init://`) know the words of an environment's lexicon alone;
environments of free text have none.
"""

from pathlib import Path

from components.settings import InitConfig
from components.update.initialise.scratch import END, PAD, vocabulary, write_scratch_model

MAX_LENGTH = 8192


def write_byte_model(folder: Path, seed: int = 0) -> str:
    """Write it, and return the name of the base."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    init = InitConfig(
        hidden_size=32, intermediate_size=64, num_layers=1, num_heads=1, num_kv_heads=1,
        max_position_embeddings=MAX_LENGTH,
    )  # fmt: skip
    write_scratch_model(folder, init, letters, seed)
    known = {word: index for index, word in enumerate(vocabulary(letters))}
    tokenizer = Tokenizer(models.BPE(vocab=known, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(word, special=True) for word in (PAD, END)])
    tokenizer.save(str(folder / "tokenizer.json"))
    return f"file://{folder}"
