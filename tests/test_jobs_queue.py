"""Background jobs: order, progress, pause, stop, and that a question goes first."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from localmem.errors import GenerationError, PostponedError
from localmem.jobs.queue import Job, JobQueue
from localmem.jobs.turns import Turns
from localmem.types import LayerCost, QueueState, QueueStatus

Check = Callable[[], None]
Told = Callable[[int], None]


class _Time:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def _job(
    name: str, ran: list[str], *, utility: float = 0.0, priority: int = 0, size: int = 1
) -> Job:
    def run(check: Check, told: Told) -> LayerCost:
        check()
        ran.append(name)
        return LayerCost()

    return Job(name, size, run, priority=priority, utility=utility)


def test_the_most_urgent_and_then_the_most_useful_job_goes_first() -> None:
    ran: list[str] = []
    jobs = [
        _job("dull", ran, utility=0.1),
        _job("useful", ran, utility=0.9),
        _job("urgent", ran, priority=-1),
    ]
    status = JobQueue(jobs, Turns()).run()
    assert ran == ["urgent", "useful", "dull"]
    assert (status.state, status.done, status.total) == (QueueState.DONE, 3, 3)


def test_an_empty_queue_is_done_at_once() -> None:
    status = JobQueue([], Turns()).run()
    assert (status.state, status.total, status.seconds_left) == (QueueState.DONE, 0, None)


def test_a_stopped_queue_keeps_what_is_finished_and_runs_no_more() -> None:
    ran: list[str] = []
    queue = JobQueue(
        [_job(str(n), ran) for n in range(5)], Turns(), stop_when=lambda: len(ran) >= 2
    )
    status = queue.run()
    assert ran == ["0", "1"]
    assert (status.state, status.done) == (QueueState.STOPPED, 2)


def test_a_queue_ends_when_its_time_is_over() -> None:
    clock = _Time()

    def run(check: Check, told: Told) -> LayerCost:
        clock.now += 10
        return LayerCost()

    jobs = [Job(str(n), 1, run, number=n) for n in range(5)]
    assert JobQueue(jobs, Turns(), monotonic=clock).run(seconds=25).done == 3


def test_speed_and_time_left_follow_from_what_was_done() -> None:
    clock = _Time()
    heard: list[QueueStatus] = []

    def run(check: Check, told: Told) -> LayerCost:
        clock.now += 2
        return LayerCost(evaluated_tokens=100, completion_tokens=50)

    jobs = [Job(str(n), 4, run, number=n) for n in range(3)]
    JobQueue(jobs, Turns(), monotonic=clock, on_change=heard.append).run()
    first = heard[0]
    assert (first.done, first.total, first.jobs_done) == (4, 12, 1)
    assert first.tokens_per_s == pytest.approx(25.0)
    assert first.seconds_left == pytest.approx(4.0)
    assert heard[-1].cost == LayerCost(300, 150, 6.0)


def test_a_part_of_a_job_counts_as_done() -> None:
    heard: list[int] = []

    def run(check: Check, told: Told) -> LayerCost:
        told(3)
        return LayerCost()

    JobQueue([Job("a", 8, run)], Turns(), on_change=lambda status: heard.append(status.done)).run()
    assert heard[:2] == [3, 8]


def test_a_job_that_a_question_interrupts_is_done_after_it() -> None:
    turns = Turns()
    attempts: list[str] = []
    asked, began, gave_way = threading.Event(), threading.Event(), threading.Event()

    def run(check: Check, told: Told) -> LayerCost:
        attempts.append("began")
        began.set()
        if len(attempts) == 1:
            assert asked.wait(10)
        try:
            check()
        except PostponedError:
            gave_way.set()
            raise
        attempts.append("finished")
        return LayerCost()

    queue = JobQueue([Job("a", 1, run)], turns)
    worker = threading.Thread(target=queue.run)
    worker.start()
    assert began.wait(10)
    with turns.question():
        asked.set()
        assert gave_way.wait(10)
        assert queue.status().state is QueueState.PAUSED
    worker.join(10)
    assert attempts == ["began", "began", "finished"]


def test_a_paused_queue_goes_on_where_it_stopped() -> None:
    ran: list[str] = []
    paused = threading.Event()
    queue: JobQueue

    def run(check: Check, told: Told) -> LayerCost:
        if not paused.is_set():
            queue.pause()
            paused.set()
        check()
        ran.append("done")
        return LayerCost()

    queue = JobQueue([Job("a", 1, run)], Turns())
    worker = threading.Thread(target=queue.run)
    worker.start()
    assert paused.wait(10)
    assert queue.status().state is QueueState.PAUSED
    assert ran == []
    queue.resume()
    worker.join(10)
    assert ran == ["done"]


def test_a_job_without_a_usable_reply_is_counted_and_the_others_go_on() -> None:
    ran: list[str] = []

    def fails(check: Check, told: Told) -> LayerCost:
        raise GenerationError("the prompt is too long")

    jobs = [Job("bad", 1, fails, utility=1.0), _job("good", ran)]
    status = JobQueue(jobs, Turns()).run()
    assert (ran, status.failed, status.jobs_done) == (["good"], 1, 1)


def test_a_model_that_gives_nothing_three_times_ends_the_run() -> None:
    def fails(check: Check, told: Told) -> LayerCost:
        raise GenerationError("the engine failed")

    queue = JobQueue([Job(str(n), 1, fails, number=n) for n in range(9)], Turns())
    with pytest.raises(GenerationError):
        queue.run()
    assert queue.status().failed == 3


def test_the_check_says_when_a_job_must_stop() -> None:
    turns = Turns()
    queue = JobQueue([], turns)
    queue.check()
    with turns.question(), pytest.raises(PostponedError):
        queue.check()
    queue.stop()
    with pytest.raises(PostponedError):
        queue.check()


def test_it_is_quiet_only_some_time_after_the_last_question() -> None:
    clock = _Time()
    turns = Turns(monotonic=clock)
    quiet = turns.after(20.0)
    assert not quiet.is_wanted
    with turns.question():
        assert quiet.is_wanted
    assert quiet.is_wanted
    clock.now += 21
    assert not quiet.is_wanted
