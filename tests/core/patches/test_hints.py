from __future__ import annotations

import pytest

from stackctl.core.patches.hints import hints
from tests.core.patches.queues import walked

BASE = {
    "pkg/a.py": "import os\n\n\ndef old(value):\n    return value\n",
    "pkg/b.py": "from pkg import a\n\n\ndef main():\n    return a.old(1)\n",
}


def found(*steps: tuple[str, dict[str, str]]) -> list[str]:
    walk = walked(BASE, *steps)
    return [
        f"{one.patch} uses {one.name} of {one.adds}: {one.file}:{one.line} {one.bound_in}:{one.bound_at}"
        for one in hints(walk.patches, walk.state)
    ]


A, B = BASE["pkg/a.py"], BASE["pkg/b.py"]
HELPER = A + "\n\ndef new_helper(rows, *, page_size=1):\n    kept = rows\n    return kept\n"
USER = B + "\n\ndef more():\n    return a.new_helper([1])\n"


def test_a_function_that_another_patch_adds() -> None:
    assert found(("adds", {"pkg/a.py": HELPER}), ("uses", {"pkg/b.py": USER})) == [
        "uses uses new_helper of adds: pkg/b.py:9 pkg/a.py:8"
    ]


def test_the_order_does_not_matter() -> None:
    assert len(found(("uses", {"pkg/b.py": USER}), ("adds", {"pkg/a.py": HELPER}))) == 1


@pytest.mark.parametrize(
    ("adds", "uses"),
    [
        ("\n\nclass Pages:\n    total_pages = 0\n", "\nCOUNT = a.Pages.total_pages\n"),
        ("\nPAGE_LIMIT: int = 4\n", "\nfrom pkg.a import PAGE_LIMIT as limit\n"),
        ("\n\nclass Box:\n    def __init__(self):\n        self.free_pages = []\n", "\nprint(box.free_pages)\n"),
        ("\n\ndef other(x, page_size=1):\n    return x\n", "\na.old(page_size=3)\n"),
        ("\n\nasync def drain_all():\n    pass\n", "\nx = a.drain_all\n"),
    ],
)
def test_what_counts_as_added(adds: str, uses: str) -> None:
    assert found(("adds", {"pkg/a.py": A + adds}), ("uses", {"pkg/b.py": B + uses}))


@pytest.mark.parametrize(
    ("adds", "uses", "why"),
    [
        ("\n\ndef old_one(x):\n    kept_rows = x\n    return kept_rows\n", "\nprint(kept_rows)\n", "a local variable"),
        ("\n\ndef new_helper():\n    pass\n", "\n# new_helper is no call\ns = 'new_helper'\n", "a comment and a text"),
        ("\n\ndef new_helper():\n    pass\n", "\ndef new_helper():\n    new_helper()\n", "bound by both"),
        ("\n\ndef main():\n    pass\n", "\nprint(main)\n", "a name that the base has"),
        ("\n\ndef f():\n    pass\n", "\nf()\n", "too short"),
        ("\n\ndef __call__(self):\n    pass\n", "\nx.__call__()\n", "a name of the language"),
    ],
)
def test_silent_where_it_could_be_wrong(adds: str, uses: str, why: str) -> None:
    assert found(("adds", {"pkg/a.py": A + adds}), ("uses", {"pkg/b.py": B + uses})) == [], why


def test_a_use_that_a_later_patch_takes_out_is_none() -> None:
    assert found(("adds", {"pkg/a.py": HELPER}), ("uses", {"pkg/b.py": USER}), ("later", {"pkg/b.py": B})) == []


def test_files_that_are_no_python_give_no_hint() -> None:
    broken = "def new_helper(:\n"
    assert found(("adds", {"pkg/c.py": broken}), ("uses", {"pkg/b.py": USER})) == []
    assert found(("adds", {"pkg/c.txt": "def new_helper():\n"}), ("uses", {"pkg/b.py": USER})) == []
