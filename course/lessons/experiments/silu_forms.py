"""One function, three formulas: silu in float32, for gates from far below 0 to far above.

python course/lessons/experiments/silu_forms.py
"""

import torch

GATES = (-200.0, -100.0, -1.0, 1.0, 100.0)
FORMS = {
    "g / (1 + exp(-g))": lambda g: g / (1 + torch.exp(-g)),
    "g exp(g) / (1 + exp(g))": lambda g: g * torch.exp(g) / (1 + torch.exp(g)),
    "g - g / (1 + exp(g))": lambda g: g - g / (1 + torch.exp(g)),
}


def main():
    print(f"{'g':<24}", *(f"{g:>8.0f}" for g in GATES))
    g = torch.tensor(GATES)
    exact = torch.nn.functional.silu(g.double())
    for name, formula in FORMS.items():
        print(f"{name:<24}", *(f"{v:>8.3g}" for v in formula(g).tolist()))
    print(f"{'float64':<24}", *(f"{v:>8.3g}" for v in exact.tolist()))


if __name__ == "__main__":
    main()
