"""How text may look where it is printed."""

from __future__ import annotations

from dataclasses import dataclass

_COLOURS = {"PASS": "32", "FAIL": "31", "UNKNOWN": "33"}


@dataclass(frozen=True)
class Style:
    width: int = 100
    colour: bool = False

    def state(self, text: str) -> str:
        """PASS, FAIL and UNKNOWN in their colours; anything else as it is."""
        code = _COLOURS.get(text.strip())
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and code else text

    def bold(self, text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if self.colour else text


PLAIN = Style()
