"""What stands before a kernel's text: MLX's own headers."""

from tracekit.lab.metal_queue import prelude


def test_the_installed_headers_become_one_text() -> None:
    text = prelude()
    assert '#include "' not in text
    assert "#pragma once" not in text
    for needed in ("struct Limits", "typedef half float16_t", "bfloat16_t", "struct complex_t"):
        assert needed in text, needed


def test_an_include_comes_before_what_needs_it() -> None:
    text = prelude()
    assert text.index("bfloat16_t;") < text.index("instantiate_float_limit(bfloat16_t)")
