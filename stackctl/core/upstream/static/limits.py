"""How far somebody else's source is followed: a table needs little, and a tree may hold anything.

What goes beyond is Unknown and said so, never cut off in silence. The largest release so far takes about 50,000 steps
and a file of 324,000 bytes, and keeps a million bytes of modules.
"""

from __future__ import annotations

STEPS = 200_000  # expressions, statements, turns of loops
DEPTH = 40  # calls inside of calls
LARGEST = 20_000  # elements of a value, with all that is inside of them
LETTERS = 10  # of a text weigh as one element
BITS = 4096  # of a number; beyond 4300 digits Python itself writes none
FREE = 64  # elements that one step may look at
LONGEST_FILE = 800_000  # bytes; a dense file takes 700 times as much while it is parsed
KEPT = 8_000_000  # bytes of all modules that are followed
