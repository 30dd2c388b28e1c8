"""Models of mistakes are run once on a case, however many hand-ins are judged on it."""

from __future__ import annotations

import torch

from autograder.catalogue import Check
from autograder.judge import modelled
from autograder.judge.diagnosis import Mistakes, Probe, nearest
from autograder.judge.modelled import Modelled
from autograder.judge.oracles import Tensors

X = torch.tensor([1.0, 2.0, 3.0])


def test_the_second_hand_in_costs_no_model() -> None:
    ran: list[str] = []

    def tripled(case: object, inputs: Tensors) -> Tensors:
        ran.append("tripled")
        return {"y": 3 * inputs["x"]}

    def refused(case: object, inputs: Tensors) -> str:
        ran.append("refused")
        return r"loads outside x\b"

    models = {"tripled": tripled, "refused": refused}
    mistakes = Mistakes(models, dict.fromkeys(models, "Why."), (), {})
    check, known = Check("c", "tiny", 1.0, "It doubles.", {}), Modelled()
    right, inf = {"y": 2 * X.double()}, {"y": torch.full((3,), torch.inf).double()}
    probes = [
        Probe(check, {"x": X}, {"y": 3 * X}, right, modelled=known),
        Probe(check, {"x": X}, inf, right, False, "The kernel loads outside x, by far.", known),
        Probe(check, {"x": X}, {"y": 3 * X}, right, modelled=known),
    ]
    found = [nearest(mistakes, [probe]) for probe in probes]
    assert [item.mistake for item in found if item is not None] == ["tripled", "refused", "tripled"]
    assert ran == ["tripled", "refused"]
    nearest(mistakes, probes[:1], "cuda")
    assert ran.count("tripled") == 2  # a model may say another thing of a GPU


def test_what_is_large_is_made_anew() -> None:
    known, made = Modelled(), []

    def large() -> Tensors:
        made.append(1)
        return {"y": torch.empty(modelled._MOST, dtype=torch.uint8)[:1], "z": torch.empty(1)}

    known.outputs("large", "cpu", large)
    known.outputs("large", "cpu", large)
    assert len(made) == 2
