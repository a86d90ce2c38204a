"""A small honest engine that serves in sglang's place: real pages, real hand-over, no weights."""

__version__ = "1.0.0"
