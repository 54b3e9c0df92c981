"""The replaced products of rows and adapters give what vLLM's own give."""

import importlib
from collections.abc import Iterator
from types import ModuleType

import pytest
import torch

from components.rollout import vllm_weights
from components.rollout.vllm_weights import bgmv_expand, bgmv_expand_slice, bgmv_shrink
from tests.components.rollout_engines.conftest import World

SHAPES = {"rows": (7, 12), "down": (3, 1, 4, 12), "up": (3, 1, 10, 4)}


@pytest.fixture(scope="module")
def original(world: World) -> Iterator[ModuleType]:
    """vLLM's own functions, whatever an engine replaced; the replacement is put back."""
    from vllm.lora.ops.torch_ops import lora_ops

    yield importlib.reload(lora_ops)
    vllm_weights.multiply_by_adapter()


def tensor(name: str, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(SHAPES[name], generator=torch.Generator().manual_seed(len(name))).to(dtype)


@pytest.mark.parametrize("indices", [[1] * 7, [0, 2, 2, 1, 0, 1, 2]], ids=["one", "mixed"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_products_are_those_of_vllm(
    original: ModuleType, indices: list[int], dtype: torch.dtype
) -> None:
    at, rows = torch.tensor(indices), tensor("rows", dtype)
    small, expected_small = torch.zeros(7, 4), torch.zeros(7, 4)
    bgmv_shrink(rows, tensor("down", dtype), small, at, 0.5)
    original.bgmv_shrink(rows, tensor("down", dtype), expected_small, at, 0.5)
    torch.testing.assert_close(small, expected_small)
    for width in (10, 8):  # the model may pad its output differently
        full, expected = torch.ones(7, width), torch.ones(7, width)
        bgmv_expand(small, tensor("up"), full, at)
        original.bgmv_expand(small, tensor("up"), expected, at)
        torch.testing.assert_close(full, expected)
    for add_inputs in (True, False):
        full, expected = torch.ones(7, 30), torch.ones(7, 30)
        bgmv_expand_slice(small, tensor("up"), full, at, 20, 10, add_inputs)
        original.bgmv_expand_slice(small, tensor("up"), expected, at, 20, 10, add_inputs)
        torch.testing.assert_close(full, expected)


def test_a_row_without_an_adapter_gets_nothing() -> None:
    at = torch.tensor([-1, 0, 2, -1, 1, -1, 0])
    output = torch.ones(7, 10)
    small = torch.full((7, 4), 9.0)
    bgmv_shrink(tensor("rows"), tensor("down"), small, at)
    bgmv_expand(small, tensor("up"), output, at)
    alone = (at < 0).nonzero().flatten().tolist()
    assert (small[alone] == 0).all() and (output[alone] == 1).all()
    assert (output[at >= 0] != 1).all()


def test_no_adapter_at_all_adds_nothing() -> None:
    output = torch.ones(7, 10)
    bgmv_expand(torch.ones(7, 4), tensor("up"), output, torch.full((7,), -1))
    assert (output == 1).all()


def test_an_engine_with_adapters_uses_them(vllm_engine: object) -> None:
    from vllm.lora.punica_wrapper import punica_cpu

    assert punica_cpu.bgmv_shrink is bgmv_shrink
