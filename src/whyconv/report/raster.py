"""Bitmaps inside an SVG drawing, as embedded PNG."""

from __future__ import annotations

import base64
import struct
import zlib

from whyconv.lazy import np


def bitmap(pixels: np.ndarray, left: float, top: float, width: float, height: float) -> str:
    """An SVG image of grey bytes (row, column) or colours (row, column, 3), with sharp pixels."""
    data = base64.b64encode(png(pixels)).decode()
    place = f'x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}"'
    return (
        f'<image {place} preserveAspectRatio="none" style="image-rendering: pixelated" '
        f'href="data:image/png;base64,{data}"/>'
    )


def png(pixels: np.ndarray) -> bytes:
    """The pixels as a PNG file: grey or RGB, eight bits, no filter."""
    rows, columns = pixels.shape[:2]
    colour = 2 if pixels.ndim == 3 else 0
    lines = b"".join(b"\0" + row.tobytes() for row in pixels)
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", columns, rows, 8, colour, 0, 0, 0)),
        (b"IDAT", zlib.compress(lines, 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in parts
    )
