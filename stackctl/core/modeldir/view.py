"""A model's folder as the rules of the linter see it."""

from __future__ import annotations

from stackctl.core.lint.setup import ModelView
from stackctl.core.modeldir.values import ModelDir


def view_of(model: ModelDir) -> ModelView:
    """`source` is `folder`; a folder that cannot be looked at says nothing but its path."""
    if model.problem:
        return ModelView(model.path)
    known = "tokenizer_config.json" in model.tokenizer.files or model.chat_template
    return ModelView(
        path=model.path,
        family=model.family,
        experts=model.experts,
        quantization=model.stored,
        architecture=model.architecture,
        has_chat_template=bool(model.chat_template) if known else None,
        source="folder",
    )
