import platform
import sys

import pytest
import torch

from gridner.training.cpu import keep_memory, quick


def flushed() -> bool:
    return sys.float_info.min / 4 == 0


def test_tiny_numbers_are_zero_only_while_it_lasts() -> None:
    assert not flushed()
    with pytest.raises(KeyError), quick(torch.device("cpu")):
        assert flushed()
        with quick(torch.device("cpu")):
            assert flushed()
        assert flushed()
        raise KeyError
    assert not flushed()


def test_other_devices_are_left_alone() -> None:
    with quick(torch.device("meta")):
        assert not flushed()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc has this allocator")
def test_glibc_can_be_asked_to_keep_memory() -> None:
    assert keep_memory()
