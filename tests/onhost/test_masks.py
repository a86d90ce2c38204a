from __future__ import annotations

import pytest

from stackctl.onhost.masks import masked, tells_secret, text


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        ("python -m x --api-key k1 --port 1", "python -m x --api-key *** --port 1"),
        ("--api-key=k1", "--api-key=***"),
        ("--admin-api-key -odd", "--admin-api-key ***"),  # a key may begin with one dash
        ("--api-key --port 1", "--api-key --port 1"),
        ("HF_TOKEN=hf1 OPENAI_API_KEY=a env", "HF_TOKEN=*** OPENAI_API_KEY=*** env"),
        ("--tokenizer-path /m --max-total-tokens 5", "--tokenizer-path /m --max-total-tokens 5"),
        ("--ssl-keyfile /k.pem --key-value=3", "--ssl-keyfile /k.pem --key-value=3"),
        ("--mm-process-config {'a':1}", "--mm-process-config {'a':1}"),
        ('--json {"api_key":"x","page":"64"}', '--json {"api_key":"***","page":"64"}'),
        ("--url http://me:pw@h:1/x", "--url http://***@h:1/x"),
        ("curl -H Authorization:Bearer sk-abcdefgh12345", "curl -H Authorization:Bearer ***"),
        ("--password", "--password"),
    ],
)
def test_a_command_line_keeps_its_keys_to_itself(argv: str, shown: str) -> None:
    assert " ".join(masked(argv.split(" "))) == shown


@pytest.mark.parametrize(
    "name", ["--api-key", "HF_TOKEN", "password", "apikey", "AWS_SECRET", "auth", "router.api_keys"]
)
def test_names_of_secrets(name: str) -> None:
    assert tells_secret(name)


@pytest.mark.parametrize(
    "name", ["--tokenizer-mode", "max_tokens", "--kv-cache-dtype", "author", "NCCL_P2P_LEVEL", "monkey"]
)
def test_names_of_no_secrets(name: str) -> None:
    assert not tells_secret(name)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("export HF_TOKEN=abc; python -m x --password 'a b' -v", "export HF_TOKEN=***; python -m x --password *** -v"),
        ("x --api-key\tk && y --api-key=k2 --port 1", "x --api-key\t*** && y --api-key=*** --port 1"),
        ("http://h/x?token=abc&page=3", "http://h/x?token=***&page=3"),
        ('SECRET="a b" go', "SECRET=*** go"),
        ("argument --api-key: expected one argument", "argument --api-key: expected one argument"),
        ("--api-key --port 1", "--api-key --port 1"),
        ("the token is 5, --max-total-tokens 5, author=me", "the token is 5, --max-total-tokens 5, author=me"),
    ],
)
def test_a_text_of_many_words_keeps_its_keys_to_itself(words: str, shown: str) -> None:
    assert text(words) == shown


def test_a_bearer_in_a_text() -> None:
    assert text("said: Bearer abc.def, and went") == "said: *** and went"
