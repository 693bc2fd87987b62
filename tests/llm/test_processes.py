"""An engine and other processes, and other event loops: each in a process of its own that may hang without harm."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")


def run(script, *arguments):
    """Run Python code; a hang is a failure after a minute."""
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "PYTHONWARNINGS": "ignore::DeprecationWarning"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@needs_fork
def test_a_forked_process_is_told_that_the_engine_is_elsewhere_and_may_make_its_own(tiny_folder):
    script = """
        import gc, multiprocessing, os, sys, torch
        from structgen import LLM, SamplingParams
        from structgen.errors import EngineClosed

        llm = LLM(sys.argv[1])
        matrix = torch.ones(1500, 1500)
        matrix @ matrix  # starts torch's own threads, which a fork does not have
        few, endless = SamplingParams(max_tokens=4), SamplingParams(max_tokens=None, ignore_eos=True)
        before = llm.generate("Hi", sampling_params=few)
        stream = llm.stream("Hi", sampling_params=endless)
        next(stream)

        def refused(call):
            try:
                call()
            except EngineClosed as error:
                return "forked" in str(error) and "spawn" in str(error)

        child = os.fork()
        if not child:
            calls = [lambda: llm.generate("Hi"), lambda: next(stream), lambda: llm.generator(int), llm.client.metrics]
            print("refused", [refused(call) for call in calls], flush=True)
            llm.close()
            del stream, llm
            gc.collect()
            own = LLM(sys.argv[1])
            matrix @ matrix
            print("own", own.generate("Hi", sampling_params=few) == before, flush=True)
            sys.exit(7)  # through all that Python does at its end
        print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        print("parent", next(stream) != "", llm.generate("Hi", sampling_params=few) == before)
        stream.close()

        def ask(prompt):
            return llm.generate(prompt, schema=int)

        with multiprocessing.get_context("fork").Pool(2) as pool:
            print("pool", refused(lambda: pool.map(ask, ["a", "b"])))
    """
    assert run(script, tiny_folder) == [
        "refused [True, True, True, True]",
        "own True",
        "child 7",
        "parent True True",
        "pool True",
    ]


def test_everything_works_inside_a_running_event_loop(tiny_folder):
    """As in a notebook's cell, which is run by a loop that runs already."""
    script = """
        import asyncio, sys
        from structgen import LLM, SamplingParams

        async def cell():
            with LLM(sys.argv[1]) as llm:
                few = SamplingParams(max_tokens=4)
                one = llm.generate("Hi", schema=int)
                several = llm.generate(["Hi", "Hi"], schema=int, progress=True)
                streamed = "".join(llm.stream("Hi", sampling_params=few))
                on_threads = await asyncio.gather(
                    *(asyncio.to_thread(llm.generate, "Hi", sampling_params=few) for _ in range(3))
                )
                print(several == [one, one], set(on_threads) == {streamed})

        asyncio.run(cell())
    """
    assert run(script, tiny_folder) == ["True True"]
