import platform
import sys

import pytest
import torch

from gridner.training.cpu import flush_denormals, keep_freed_memory


def flushed() -> bool:
    return sys.float_info.min / 4 == 0


def test_tiny_numbers_are_zero_only_while_it_lasts() -> None:
    assert not flushed()
    with pytest.raises(KeyError), flush_denormals(torch.device("cpu")):
        assert flushed()
        with flush_denormals(torch.device("cpu")):
            assert flushed()
        assert flushed()
        raise KeyError
    assert not flushed()


def test_other_devices_are_left_alone() -> None:
    with flush_denormals(torch.device("meta")):
        assert not flushed()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc has this allocator")
def test_glibc_can_be_asked_to_keep_freed_memory() -> None:
    assert keep_freed_memory()
