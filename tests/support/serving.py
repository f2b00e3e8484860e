"""A service that really listens, for the tests; and recognizers to serve."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from gridner.config import DecodingConfig
from gridner.inference.base_recognizer import SentenceRequest
from gridner.inference.recognizer import Recognizer
from gridner.service.app import Service
from gridner.service.server import create_server
from gridner.tagging.tags import TagScheme
from gridner.text.alignment import Mention

WINDOW = 100  # words of a sentence that the slow recognizer reads at a time
COMMAND = [sys.executable, "-m", "gridner", "serve", "--port", "0", "--threads", "1"]


@contextmanager
def running(service: Service, *, connections: int = 200, **seconds: float) -> Iterator[str]:
    """The service on a port of this machine; its address."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = create_server(service, connections=connections, **seconds)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        if isinstance(service.recognizer, Slow):
            service.recognizer.gate.release(1000)  # whatever went wrong, it ends
        server.should_exit = True
        thread.join()
        listening.close()


@contextmanager
def served(*options: str, files: int | None = None, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`gridner serve` as a process that may open so many files, on a free port; its address."""
    limited = [] if files is None else ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh"]
    process = subprocess.Popen(
        [*limited, *COMMAND, *options], stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", said)
        assert found, said
        while not _listens(int(found[0].rsplit(":", 1)[1])):  # the address is said a moment before
            assert process.poll() is None
        yield process, found[0]
    finally:
        process.kill()
        process.communicate()


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=60).close()
    except ConnectionRefusedError:
        return False
    return True


@dataclass(slots=True)
class Slow(Recognizer):
    """A recognizer that answers when it may: the gate opens once for each batch. It keeps what it was asked."""

    gate: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    began: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))  # a batch is being read
    batches: list[list[str]] = field(default_factory=list)

    def recognize(self, asked: Sequence[SentenceRequest]) -> Iterator[tuple[int, list[Mention]] | None]:
        words = [[word.text for word in one.sentence.words] for one in asked]
        self.batches.append([" ".join(some) for some in words])
        self._pass_gate()
        if any("poison" in some for some in words):
            raise RuntimeError("poison in the text")
        for number, one in enumerate(asked):
            for _ in range(WINDOW, len(one.sentence.words), WINDOW):  # its windows but the last, a batch each
                yield None
                self._pass_gate()
            found = [place for place, word in enumerate(one.sentence.words) if word.text == "pain"]
            yield number, [Mention("Sign", (place,), 0.9) for place in found]

    def _pass_gate(self) -> None:
        self.began.release()
        self.gate.acquire()


def slow(**changes: Any) -> Slow:
    """One without a network."""
    no_network: Any = None
    scheme = TagScheme(("Drug", "Sign"))
    return Slow(engine=no_network, tokenizer=no_network, scheme=scheme, decoding=DecodingConfig(), **changes)


def quick() -> Slow:
    """One that does not wait to be let through."""
    return slow(gate=threading.Semaphore(10**9))
