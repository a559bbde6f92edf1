"""Text to tokens and back. A piece of text is given out when its characters are complete."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from typing import Protocol


class Detokenizer(Protocol):
    """Text of one answer, token by token."""

    def push(self, token: int) -> str:
        """Return the characters that this token completes; often none."""

    def end(self) -> str:
        """Return what is left."""


class Tokenizer(Protocol):
    """The text side of a language model."""

    @property
    def ends(self) -> frozenset[int]:
        """Tokens that end an answer."""

    def encode(self, text: str) -> Sequence[int]:
        """Return the tokens of a whole prompt, with whatever has to be around it; at least one."""

    def detokenizer(self) -> Detokenizer:
        """Begin an answer."""


class Bytes:
    """One token for each byte of UTF-8, one that begins and one that ends. For models that were never trained."""

    BEGIN, END = 256, 257
    SIZE = 258
    ends = frozenset({END})

    def encode(self, text: str) -> Sequence[int]:
        """Return the beginning, and the bytes."""
        return [self.BEGIN, *text.encode()]

    def detokenizer(self) -> Detokenizer:
        """Begin an answer."""
        return _Utf8()


class _Utf8:
    """Implements :class:`Detokenizer`; what is no UTF-8 becomes U+FFFD."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, token: int) -> str:
        return self._decoder.decode(bytes([token])) if token < 256 else ""

    def end(self) -> str:
        return self._decoder.decode(b"", final=True)


WINDOW, KEPT = 48, 16
"""Tokens that are decoded again with each new one, and those that stay when the window moves on."""


class Whole:
    """Implements :class:`Detokenizer` over a function that decodes a whole answer: what is new in it is given out.

    A piece waits while it ends in U+FFFD, which is how tokenizers show half a character. Only a window of the last
    tokens is decoded, so that the cost of an answer is linear in its length.
    """

    def __init__(self, decode: Callable[[Sequence[int]], str]) -> None:
        self._decode = decode
        self._tokens: list[int] = []
        self._given = 0

    def push(self, token: int) -> str:
        """Return the characters that this token completes."""
        self._tokens.append(token)
        text = self._decode(self._tokens)
        if text.endswith("\N{REPLACEMENT CHARACTER}"):
            return ""
        new, self._given = text[self._given :], len(text)
        if len(self._tokens) > WINDOW:
            self._tokens = self._tokens[-KEPT:]
            self._given = len(self._decode(self._tokens))
        return new

    def end(self) -> str:
        """Return what is left."""
        return self._decode(self._tokens)[self._given :]
