"""The limit of grading a class: seconds of CPU time that one hand-in's launches take in one warm process.

All checks that run on CPU, the hidden ones among them; nothing is compared, guarded or forked.  The best of three.
"""

from __future__ import annotations

import time

from baseline import ROOT, load, unchecked  # sets the interpreter and the number of threads


def main() -> None:
    import torch

    from autograder.catalogue import load_course, load_hidden

    torch.set_num_threads(1)
    course = load_course(ROOT)
    hidden = load_hidden(ROOT / "solutions" / "hidden.toml", course)
    totals = []
    for _ in range(4):
        total = 0.0
        for exercise in course.exercises:
            solution, launch, oracle = (
                load(ROOT / "solutions" / exercise.stub),
                load(exercise.launch),
                load(exercise.oracle),
            )
            for check in (*exercise.checks, *hidden.get(exercise.id, ())):
                if "cpu" not in check.devices:
                    continue
                inputs = oracle.make_inputs(check.case, torch.Generator().manual_seed(0))
                outputs = {
                    name: torch.empty(shape, dtype=getattr(torch, dtype))
                    for name, (shape, dtype) in launch.outputs(check.case).items()
                }
                start = time.process_time()
                launch.launch(unchecked, solution, check.case, inputs, outputs)
                total += time.process_time() - start
        totals.append(total)
    print(min(totals[1:]))


if __name__ == "__main__":
    main()
