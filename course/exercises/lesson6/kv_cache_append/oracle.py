"""What the caches hold afterwards: each token's row at its slot, and what they held everywhere else."""

import torch


def make_inputs(case, generator):
    """k, v (tokens, stride), slots (tokens,) int64, and what the caches hold, k_held, v_held (pool, width).

    ``padding`` tokens, anywhere in the batch, have slot -1; slots are taken from 1 on unless ``from_0``, where slot 0
    always is taken. With ``again`` the same tokens come in another order too.
    """
    tokens, pool = case["tokens"], case["pool"]
    real = max(0, tokens - case["padding"])
    k, v = (torch.randn(tokens, case["stride"], generator=generator) for _ in range(2))
    held = [torch.randn(pool, case["width"], generator=generator) for _ in range(2)]
    taken = 1 + torch.randperm(pool - 1, generator=generator)[:real]
    if case.get("from_0") and real:
        taken[real // 2] = 0
    slots = torch.full((tokens,), -1)
    slots[torch.randperm(tokens, generator=generator)[:real]] = taken
    inputs = {"k": k, "v": v, "slots": slots, "k_held": held[0], "v_held": held[1]}
    if case.get("again"):
        order = torch.randperm(tokens, generator=generator)
        inputs.update({f"{name}_again": inputs[name][order] for name in ("k", "v", "slots")})
    return inputs


def oracle(case, inputs):
    """k_cache, v_cache (pool, width); untouched (pool,) and same (pool,): all true."""
    caches = {}
    for name in ("k", "v"):
        cache = inputs[f"{name}_held"].clone()
        for token, slot in enumerate(inputs["slots"].tolist()):
            if slot != -1:
                cache[slot] = inputs[name][token, : case["width"]]
        caches[f"{name}_cache"] = cache
    true = torch.ones(case["pool"], dtype=torch.bool)
    return {**caches, "untouched": true, "same": true}


def observe(case, inputs, outputs):
    """The caches as they are; which slots are as they were or named by a token, and the same in another order."""
    named = torch.zeros(case["pool"], dtype=torch.bool)
    named[inputs["slots"][inputs["slots"] >= 0]] = True
    kept = {name: (outputs[f"{name}_cache"] == inputs[f"{name}_held"]).all(1) for name in ("k", "v")}
    same = torch.ones(case["pool"], dtype=torch.bool)
    if case.get("again"):
        for name in ("k_cache", "v_cache"):
            same &= (outputs[name] == outputs[f"{name}_again"]).all(1)
    caches = {name: outputs[name] for name in ("k_cache", "v_cache")}
    return {**caches, "untouched": named | (kept["k"] & kept["v"]), "same": same}


def limits(case):
    """Each token is loaded by one program; of padding alone, nothing need be loaded."""
    if case["padding"] >= case["tokens"]:
        return {}
    return {f"total_load.{name}": case["tokens"] * case["width"] for name in "kv"}
