from __future__ import annotations

import json
from dataclasses import replace

from stackctl.core.deploy.gate import CHARS_PER_TOKEN, expected, gate_config, long_prompt, requests
from tests.core.deploy.releases import record, release


def test_arguments_as_the_engine_names_them() -> None:
    argv = [
        "-m",
        "x",
        "--host",
        "h",
        "--tp-size",
        "4",
        "--enable-metrics",
        "--cuda-graph-bs",
        "1",
        "2",
        "--a=b",
        "--n",
        "-1",
    ]
    wanted = {"tp_size": "4", "enable_metrics": True, "cuda_graph_bs": ["1", "2"], "a": "b", "n": "-1"}
    assert expected(argv) == wanted


def test_one_prompt_is_longer_than_page_and_chunk_but_fits_into_the_pool() -> None:
    launches = record().launches
    assert long_prompt(launches) == 4196
    small = [replace(one, argv=(*one.argv, "--max-total-tokens", "2048")) for one in launches]
    characters = long_prompt(small) * CHARS_PER_TOKEN
    assert characters / 4 < 2048 / 2  # even where four characters are a token
    asked = requests(8, "m", 4196)
    lengths = [len(one["body"]["messages"][0]["content"]) for one in asked]  # type: ignore[index]
    assert max(lengths) > 4196 * 4 and sorted(lengths)[-2] < 300


def test_the_config_asks_everybody_and_expects_our_flags() -> None:
    made = release()
    config = json.loads(gate_config(made, record(made).launches, "/trees/x"))
    assert [one["instance"] for one in config["launches"]] == ["prefill-0", "decode-0", "router-0"]
    assert config["url"] == "http://127.0.0.1:31000" and config["release"] == made.id
    prefill = config["launches"][0]
    assert prefill["expect"]["chunked_prefill_size"] == "4096" and prefill["expect"]["tp_size"] == "2"
    assert prefill["expect"]["disaggregation_bootstrap_port"] == "8998"
    assert config["launches"][2]["expect"] == {} and config["launches"][2]["ready"] == "/liveness"
    assert len(config["requests"]) == made.stack.gate.requests
    assert [one["body"].get("stream", False) for one in config["requests"]].count(False) == 1
