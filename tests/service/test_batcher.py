import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import pytest

from gridner import Document
from gridner.errors import Notes
from gridner.inference.recognizer import Recognizer
from gridner.service.batcher import Batcher
from gridner.service.limits import Limits
from gridner.service.metrics import Metrics
from gridner.service.queue import BusyError
from support.serving import Slow, slow
from support.small import TEXTS


def text(name: str, words: str) -> list[Document]:
    return [Document(name, words)]


async def started(work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
    """A request that is accepted."""
    task = asyncio.create_task(work)
    await asyncio.sleep(0)
    return task


async def until_read(recognizer: Slow) -> None:
    """Until a batch is being read."""
    await asyncio.to_thread(recognizer.began.acquire)


def test_answers_are_those_of_the_library_whatever_the_company(recognizer: Recognizer) -> None:
    documents = [Document(f"d{n}", f"{TEXTS[n % 6]} {TEXTS[(n * 5 + 1) % 6]}" * (n % 3 + 1)) for n in range(24)]
    thresholds = [None, 0.1, 0.5, 0.9]

    async def all_at_once(batcher: Batcher) -> list[list[Document]]:
        return await asyncio.gather(
            *(batcher.recognize([one], threshold=thresholds[n % 4]) for n, one in enumerate(documents))
        )

    batcher = Batcher(recognizer, Limits(), Metrics()).start()
    found = [document for (document,) in asyncio.run(all_at_once(batcher))]
    batcher.close()
    for number, document in enumerate(documents):
        threshold = thresholds[number % 4]
        alone = recognizer if threshold is None else load_with(recognizer, threshold)
        expected = next(alone.pipe([document]))
        assert found[number] == expected
        for ours, theirs in zip(found[number].entities, expected.entities, strict=True):
            assert ours.score == pytest.approx(theirs.score, abs=1e-4)


def test_what_arrives_while_another_is_read_is_read_together() -> None:
    reader = slow()
    metrics = Metrics()

    async def scene() -> None:
        batcher = Batcher(reader, Limits(), metrics).start()
        first = await started(batcher.recognize(text("first", "No pain.")))
        await until_read(reader)
        others = [await started(batcher.recognize(text(f"d{n}", f"Pain {n}."))) for n in range(5)]
        reader.gate.release(2)
        await asyncio.gather(first, *others)
        await asyncio.to_thread(batcher.close)

    asyncio.run(scene())
    assert reader.batches == [["No pain ."], [f"Pain {n} ." for n in range(5)]]
    assert metrics.registry.get_sample_value("gridner_batch_requests_sum") == 6
    assert metrics.registry.get_sample_value("gridner_batch_sentences_count") == 2


def load_with(recognizer: Recognizer, threshold: float) -> Recognizer:
    return replace(recognizer, decoding=replace(recognizer.decoding, threshold=threshold))


@pytest.mark.parametrize("long", ["A pain. " * 500, "a pain and " * 500])
def test_a_short_request_waits_for_one_batch_of_a_long_one(long: str) -> None:
    reader = slow(cells=1)  # a turn has one sentence

    async def scene() -> None:
        batcher = Batcher(reader, Limits(), Metrics()).start()
        reading = await started(batcher.recognize(text("long", long)))
        await until_read(reader)
        short = await started(batcher.recognize(text("short", "No pain.")))
        reader.gate.release(2)  # what is being read, and the short one
        (answer,) = await asyncio.wait_for(short, 60)
        assert len(answer.entities) == 1
        assert not reading.done()
        reader.gate.release(1000)
        (answer,) = await reading
        assert len(answer.entities) == 500
        await asyncio.to_thread(batcher.close)

    asyncio.run(scene())


def test_a_long_request_goes_on_while_short_ones_come() -> None:
    reader = slow()

    async def scene() -> None:
        batcher = Batcher(reader, Limits(), Metrics()).start()
        long = await started(batcher.recognize(text("long", "a pain and " * 500)))
        await until_read(reader)
        for number in range(14):  # it has 15 windows
            short = await started(batcher.recognize(text(f"short-{number}", "No pain.")))
            reader.gate.release(2)
            await short
        reader.gate.release()
        (answer,) = await long
        assert len(answer.entities) == 500
        await asyncio.to_thread(batcher.close)

    asyncio.run(scene())


def test_long_requests_take_turns() -> None:
    reader = slow()

    async def scene() -> None:
        batcher = Batcher(reader, Limits(), Metrics()).start()
        first = await started(batcher.recognize(text("first", "a pain and " * 2000)))
        await until_read(reader)
        others = [await started(batcher.recognize(text(f"d{n}", "a pain and " * 300))) for n in range(6)]
        reader.gate.release(6 * 9 + 30)  # more than they have, less than the first has as well
        for (answer,) in await asyncio.gather(*others):
            assert len(answer.entities) == 300
        assert not first.done()
        reader.gate.release(1000)
        assert len((await first)[0].entities) == 2000
        await asyncio.to_thread(batcher.close)

    asyncio.run(scene())


def test_a_turn_is_bounded_by_words_however_short_the_sentences_are() -> None:
    reader = slow()
    reader.gate.release(1000)
    batcher = Batcher(reader, Limits(), Metrics()).start()
    asyncio.run(batcher.recognize(text("long", "No.\n\n" * 5000)))
    batcher.close()
    assert max(map(len, reader.batches)) <= 1500


def test_what_is_given_up_costs_no_more() -> None:
    reader = slow(cells=1)
    metrics = Metrics()

    async def scene() -> None:
        batcher = Batcher(reader, Limits(), metrics).start()
        long = await started(batcher.recognize(text("long", "A pain. " * 50)))
        await until_read(reader)
        long.cancel()
        with pytest.raises(asyncio.CancelledError):
            await long
        reader.gate.release()
        reader.gate.release()
        await batcher.recognize(text("next", "No pain."))
        await asyncio.to_thread(batcher.close)

    asyncio.run(scene())
    assert len(reader.batches) == 2
    assert "No pain ." in reader.batches[1]
    assert metrics.registry.get_sample_value("gridner_queue_characters") == 0


def test_closing_does_not_wait_for_what_is_given_up() -> None:
    reader = slow()

    async def scene() -> None:
        batcher = Batcher(reader, Limits(), Metrics()).start()
        long = await started(batcher.recognize(text("long", "a pain and " * 500)))
        await until_read(reader)
        long.cancel()
        with pytest.raises(asyncio.CancelledError):
            await long
        reader.gate.release()  # the batch that is being read
        await asyncio.to_thread(batcher.close)

    asyncio.run(scene())


def test_stopping_answers_what_was_accepted() -> None:
    reader = slow()

    async def scene() -> None:
        batcher = Batcher(reader, Limits(), Metrics()).start()
        accepted = await started(batcher.recognize(text("a", "No pain.")))
        closing = asyncio.create_task(asyncio.to_thread(batcher.close))
        while batcher.alive:
            await asyncio.sleep(0)
        with pytest.raises(BusyError, match="stopping"):
            await batcher.recognize(text("b", "No pain."))
        reader.gate.release()
        assert len((await accepted)[0].entities) == 1
        await closing

    asyncio.run(scene())


def test_a_request_that_fails_does_not_take_its_company_with_it() -> None:
    reader = slow()
    metrics = Metrics()

    async def scene() -> None:
        batcher = Batcher(reader, Limits(), metrics).start()
        both = [await started(batcher.recognize(text(words, words))) for words in ("No pain.", "No poison.")]
        for _ in range(4):
            reader.gate.release()
        assert len((await both[0])[0].entities) == 1
        with pytest.raises(RuntimeError, match="poison"):
            await both[1]
        assert len((await batcher.recognize(text("after", "No pain.")))[0].entities) == 1
        await asyncio.to_thread(batcher.close)

    asyncio.run(scene())
    assert metrics.registry.get_sample_value("gridner_errors_total", {"kind": "RuntimeError"}) == 1


def test_what_was_cut_is_said_to_whom_it_concerns(recognizer: Recognizer) -> None:
    async def scene() -> tuple[Notes, Notes]:
        capped = replace(recognizer, decoding=replace(recognizer.decoding, limit=1))
        batcher = Batcher(capped, Limits(), Metrics()).start()
        mine, theirs = Notes(), Notes()
        await asyncio.gather(
            batcher.recognize(text("cut", TEXTS[1]), threshold=0.01, notes=mine),
            batcher.recognize(text("whole", "No pain."), threshold=1.0, notes=theirs),
        )
        await asyncio.to_thread(batcher.close)
        return mine, theirs

    mine, theirs = asyncio.run(scene())
    assert mine["sentence where the decoder's caps were reached"]
    assert not theirs
