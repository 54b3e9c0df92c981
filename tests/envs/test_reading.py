"""Text files are read whole, or refused in one line that names them."""

import os
from pathlib import Path

import pytest

from envs.reading import read_text


def test_text_is_read_without_its_byte_order_mark(tmp_path):
    file = tmp_path / "text.txt"
    file.write_bytes("\ufeffén\r\n".encode())
    assert read_text(file, "words", 8) == "én\r\n"


@pytest.mark.parametrize(
    ("held", "sentence"),
    [
        (b"12345678", "words: .*text.txt has more than 7 bytes; expected fewer"),
        (b"a\nb\n\xe9\n", r"words: .*text.txt, line 3 is not UTF-8 \(byte 0xe9\); expected"),
        (b"\xff\xfe\x00#", r"line 1 is not UTF-8 \(byte 0xff\)"),
    ],
)
def test_what_is_no_small_utf_8_text_is_refused(tmp_path, held, sentence):
    file = tmp_path / "text.txt"
    file.write_bytes(held)
    with pytest.raises(ValueError, match=sentence) as caught:
        read_text(file, "words", 7)
    assert "\n" not in str(caught.value)


def test_only_regular_files_are_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.txt")
    for path in (tmp_path / "pipe.txt", Path("/dev/zero"), tmp_path):
        with pytest.raises(ValueError, match="words: .* is not a regular file; expected"):
            read_text(path, "words", 100)


def test_files_that_cannot_be_opened_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"words: .*none.txt cannot be read \(No such file"):
        read_text(tmp_path / "none.txt", "words", 100)
    with pytest.raises(ValueError, match="words: .* is no path"):
        read_text(Path("a\0b"), "words", 100)
