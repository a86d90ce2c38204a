"""parser/dsv4-keep-text on the real detectors: what a client gets of text and calls, however the answer is cut.

Run by the environment's interpreter with a tree on PYTHONPATH; nothing is stubbed.
"""

from __future__ import annotations

import json
import unittest

from sglang.srt.entrypoints.openai.protocol import Function, Tool
from sglang.srt.function_call.deepseekv4_detector import DeepSeekV4Detector
from sglang.srt.function_call.deepseekv32_detector import DeepSeekV32Detector

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
TOOLS = [Tool(type="function", function=Function(name="get_weather", parameters=SCHEMA))]
TEXT = "Case 7. I ask for the weather."
CALLS = [{"city": "Paris", "days": 3}, {"city": "Oslo", "days": 12}]
DSML = "｜DSML｜"


def block(name: str, calls: list[dict[str, object]]) -> str:
    invokes = "".join(
        f'<{DSML}invoke name="get_weather">\n'
        f'<{DSML}parameter name="city" string="true">{call["city"]}</{DSML}parameter>\n'
        f'<{DSML}parameter name="days" string="false">{call["days"]}</{DSML}parameter>\n'
        f"</{DSML}invoke>\n"
        for call in calls
    )
    return f"<{DSML}{name}>\n{invokes}</{DSML}{name}>"


DETECTORS = ((DeepSeekV4Detector, "tool_calls"), (DeepSeekV32Detector, "function_calls"))


def stream(detector: object, chunks: list[str]) -> tuple[str, list[dict[str, object]]]:
    """Text and arguments that a client puts together from the chunks' results."""
    text, arguments = "", {}
    for chunk in chunks:
        result = detector.parse_streaming_increment(chunk, TOOLS)
        text += result.normal_text
        for call in result.calls:
            arguments[call.tool_index] = arguments.get(call.tool_index, "") + (call.parameters or "")
    return text, [json.loads(arguments[index]) for index in sorted(arguments)]


class TextBeforeACall(unittest.TestCase):
    def test_all_in_one_chunk(self) -> None:
        for detector, name in DETECTORS:
            answer = f"{TEXT}\n\n{block(name, CALLS)}"
            self.assertEqual(stream(detector(), [answer]), (TEXT, CALLS))
            self.assertEqual(detector().detect_and_parse(answer, TOOLS).normal_text, TEXT)

    def test_end_of_the_text_and_start_of_the_block_in_one_chunk(self) -> None:
        for detector, name in DETECTORS:
            answer = f"\n\n{block(name, CALLS)}"
            for cut in range(len(f"\n\n<{DSML}{name}>")):
                chunks = [TEXT[:8], TEXT[8:] + answer[:cut], answer[cut:]]
                text, calls = stream(detector(), chunks)
                self.assertEqual((text.rstrip("\n"), calls), (TEXT, CALLS), f"cut at {cut}")

    def test_cut_at_every_place_in_two(self) -> None:
        for detector, name in DETECTORS:
            answer = f"{TEXT}\n\n{block(name, CALLS)}"
            for cut in range(len(answer)):
                text, calls = stream(detector(), [answer[:cut], answer[cut:]])
                self.assertEqual((text.rstrip("\n"), calls), (TEXT, CALLS), f"cut at {cut}")

    def test_cut_into_equal_pieces_of_every_size(self) -> None:
        for detector, name in DETECTORS:
            answer = f"{TEXT}\n\n{block(name, CALLS[:1])}"
            for size in range(1, len(answer) + 1):
                pieces = [answer[at : at + size] for at in range(0, len(answer), size)]
                text, calls = stream(detector(), pieces)
                self.assertEqual((text.rstrip("\n"), calls), (TEXT, CALLS[:1]), f"pieces of {size}")


class WhatStaysAsItWas(unittest.TestCase):
    def test_text_with_angle_brackets_and_no_call(self) -> None:
        text = "if a < b and\n\n<b> then </b>\n\n< end"
        for detector, _ in DETECTORS:
            for size in range(1, len(text) + 1):
                pieces = [text[at : at + size] for at in range(0, len(text), size)]
                self.assertEqual(stream(detector(), pieces), (text, []), f"pieces of {size}")

    def test_a_call_without_text_has_none(self) -> None:
        for detector, name in DETECTORS:
            answer = f"\n\n{block(name, CALLS)}"
            for size in range(3, len(answer) + 1):
                pieces = [answer[at : at + size] for at in range(0, len(answer), size)]
                text, calls = stream(detector(), pieces)
                self.assertEqual((text.strip(), calls), ("", CALLS), f"pieces of {size}")

    def test_markup_is_never_given_out_as_text(self) -> None:
        for detector, name in DETECTORS:
            answer = f"{TEXT}\n\n{block(name, CALLS)}"
            for size in range(1, len(answer) + 1):
                pieces = [answer[at : at + size] for at in range(0, len(answer), size)]
                self.assertNotIn("｜", stream(detector(), pieces)[0], f"pieces of {size}")


if __name__ == "__main__":
    unittest.main()
