"""The catalogue of rules: complete, without two of one id, and every rule says why and on what grounds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from stackctl.core.lint.catalogue import RULES, by_id
from stackctl.core.lint.rules import around, own
from stackctl.core.lint.run import KNOWS_MORE, TOO_OLD
from stackctl.core.lint.values import Rule
from stackctl.core.patches import headers

WANTED = re.findall(
    r"\S+",
    """
FLAG-UNKNOWN FLAG-REMOVED FLAG-AMBIGUOUS FLAG-ABBREV FLAG-DEPRECATED CHOICE FOREIGN-FLAG ENV-UNKNOWN ENV-DEPRECATED
ENV-DROPPED ENV-BOOL SM120-TRTLLM-MLA SM120-MOE-TRTLLM SM120-DSV4-NVFP4-AUTO SM120-DSV4-VERSION SM120-FP4-INDEXER
SM120-MEGAMOE SM120-TRTLLM-MHA-FP8 SM120-DSV4-ATTN SM120-DSA-AUTO SM120-DEEPGEMM SM120-FP8-BLOCK-MOE SM120-ENV-FORCED
SM120-SMEM SM120-NGRAM SM120-MXFP4-MARLIN-EP DSV4-ATTN DSV4-PAGE DSV4-KV DSV4-SPEC DSV4-PD-PP DSV4-CP
DSV4-FP4-EXPERTS-MISMATCH DSV4-HICACHE DSV4-EAGLE-GRAPH V41-DSPARK-PD V41-GRAPH DSV4-DPATTN-DSPARK PARSER-PAIR
CHAT-TEMPLATE-IGNORED PARSER-FORCES-ENCODING PD-PAGE PD-KV-DTYPE PD-BACKEND PD-SPEC PD-PORTS PD-GPU-OVERLAP
PD-BOOTSTRAP-PAIR PD-NIXL-DENSE PD-HICACHE-HISPARSE PD-DPATTN-MTP ROUTER-BOOTSTRAP ROUTER-NO-PREFILL ROUTER-HEALTH-OFF
CHUNK-PAGE SERVED-NAME-COLON PP-OVERLAP MOE-DENSE-TP NCCL-PREFLIGHT SHM ULIMIT DEEPEP-SM120 DEEPEP-BUFFER DSV4-VERSION
DSV4-ARCH SM120-MXFP4-FLASHINFER DSV4-NVFP4-MTP SERVE-POSITIONAL PD-DECODE-HICACHE PD-DECODE-RADIX-SPEC CONFIG-FILE
VALUE-DEPRECATED MODULE-REMOVED SM120-SPARSE-PREFILL NVFP4-CUTLASS-CLAMP PD-NIXL-V4-STATE PD-NIXL-ABORT REQ-TIMEOUT-TP
INDEX-LOGITS-MEMORY ROUTER-WORKER IMAGE-UNPINNED MODEL-UNLOCKED TORCH-DIFFERS SOURCE-UNUSED
""",
)


def test_every_rule_that_is_known_to_be_needed_is_there() -> None:
    assert sorted(set(WANTED) - set(by_id())) == []


def test_whatever_a_patch_header_lacks_is_a_rule() -> None:
    said = set(re.findall(r'"([A-Z]+(?:-[A-Z]+)+): ', Path(headers.__file__).read_text()))
    assert len(said) > 5
    assert sorted(said - set(by_id())) == []


def test_no_two_rules_have_one_id() -> None:
    assert len(RULES) == len(by_id())


def test_rules_that_settle_others_exist() -> None:
    named = {TOO_OLD, *KNOWS_MORE, *(worse for many in KNOWS_MORE.values() for worse in many)}
    assert sorted(named - set(by_id())) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_says_why_and_on_what_grounds(rule: Rule) -> None:
    assert re.fullmatch(r"[A-Z0-9]+(-[A-Z0-9]+)*", rule.id)
    assert rule.about and "\n" not in rule.about and not rule.about.endswith(".")
    assert rule.why.endswith((".", "`", ")"))
    assert rule in (*own.RULES, *around.RULES) or rule.evidence  # our own files need no link
    assert all(re.match(r"https://\S+$", one) for one in rule.evidence)
    SpecifierSet(rule.versions)
