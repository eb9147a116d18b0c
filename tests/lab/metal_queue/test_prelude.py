"""What stands before a kernel's text: MLX's own headers."""

import re
from pathlib import Path

import pytest

from tracekit.base.errors import ToolError
from tracekit.lab.metal_queue import UTILS, include_folder, prelude


def test_the_installed_headers_become_one_text() -> None:
    text = prelude()
    assert '#include "' not in text
    assert "#pragma once" not in text
    for needed in ("struct Limits", "typedef half float16_t", "bfloat16_t", "struct complex_t"):
        assert needed in text, needed


def test_each_header_is_there_once() -> None:
    assert len(re.findall(r"^struct Limits \{", prelude(), re.MULTILINE)) == 1
    assert len(re.findall(r"^typedef \S+ bfloat16_t;", prelude(), re.MULTILINE)) == 1


def test_an_include_comes_before_what_needs_it() -> None:
    text = prelude()
    assert text.index("bfloat16_t;") < text.index("instantiate_float_limit(bfloat16_t)")


def test_headers_are_inlined_at_their_place_and_once(tmp_path: Path) -> None:
    utils = tmp_path / UTILS
    utils.parent.mkdir(parents=True)
    utils.write_text('#pragma once\n#include <metal_math>\n#include "a.h"\n#include "b.h"\nlast\n')
    (tmp_path / "a.h").write_text("#pragma once\nfirst\n")
    (tmp_path / "b.h").write_text('#include "a.h"\nsecond\n')
    assert prelude(tmp_path).split() == ["#include", "<metal_math>", "first", "second", "last"]


def test_a_missing_header_is_said(tmp_path: Path) -> None:
    utils = tmp_path / UTILS
    utils.parent.mkdir(parents=True)
    utils.write_text('#include "mlx/gone.h"\n')
    with pytest.raises(ToolError, match=r"MLX's header mlx/gone\.h cannot be read"):
        prelude(tmp_path)


def test_the_folder_is_that_of_the_installed_mlx() -> None:
    assert (include_folder() / UTILS).is_file()
