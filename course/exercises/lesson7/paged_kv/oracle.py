"""Attention over a cache in pages: the keys put in order, and plain attention, in whatever precision the inputs have."""

import torch


def make_inputs(case, generator):
    """q (batch, heads, head), k_pages and v_pages (pages, page, head) float32, table (batch, max_pages) and seqlens int32.

    The first sequence has ``seqlen`` keys, each further one ``fewer`` less, 0 at the least.  Pages are given out in no
    order, with ``spare`` of them left free; page 0 is among the free ones unless ``from_0``.  All sequences have their
    first ``shared`` pages in common, as far as all fill them.  Behind a sequence's pages the table holds -1.  ``spread``
    scales the scores, ``shift`` moves all of them by that much, ``rising`` makes keys grow along a sequence.  Free pages and slots hold keys
    and values as large as any, or NaN where ``poisoned``.  With ``moved`` there is a second cache and table, with the
    same keys in other pages.
    """
    batch, page, head = case["batch"], case["page"], case["head"]
    seqlens = _seqlens(case)
    counts = (seqlens + page - 1) // page
    shared = min(case["shared"], int(seqlens.min()) // page)
    pages = 1 + case["spare"] + shared + int((counts - shared).sum())
    room = int(counts.max().clamp(min=1))

    def table():
        order = torch.randperm(pages - 1, generator=generator) + 1
        if case["from_0"]:
            order = order - 1
        found, used = torch.full((batch, room), -1), shared
        for sequence, count in enumerate(counts.tolist()):
            found[sequence, :shared] = order[:shared]
            found[sequence, shared:count] = order[used : used + count - shared]
            used += count - shared
        return found

    q = torch.randn(batch, case["heads"], head, generator=generator) * case["spread"]
    keys = torch.randn(batch, room * page, head, generator=generator)
    values = torch.randn(batch, room * page, head, generator=generator)
    keys[:, : shared * page], values[:, : shared * page] = keys[0, : shared * page], values[0, : shared * page]
    if case["rising"]:
        keys = keys * torch.linspace(0.2, 4.0, room * page)[:, None]
    if case["shift"]:
        q[..., 0], keys[..., 0] = case["shift"] / case["scale"], 1.0
    found = {"q": q, "seqlens": seqlens.int()}
    for suffix in ("", "_moved") if case["moved"] else ("",):
        numbers = table()
        for name, x in (("k_pages", keys), ("v_pages", values)):
            left_over = 3.0 * torch.randn(pages, page, head, generator=generator)
            if case["poisoned"]:
                left_over = torch.full_like(left_over, float("nan"))
            found[f"{name}{suffix}"] = _paged(case, x, numbers, seqlens, left_over)
        found[f"table{suffix}"] = numbers.int()
    return found


def _seqlens(case):
    return (case["seqlen"] - case["fewer"] * torch.arange(case["batch"])).clamp(min=0)


def _paged(case, x, table, seqlens, pages):
    """x (batch, room, head) put into its slots of ``pages``, what is there else left as it is."""
    for sequence, length in enumerate(seqlens.tolist()):
        j = torch.arange(length)
        pages[table[sequence, j // case["page"]], j % case["page"]] = x[sequence, :length]
    return pages


def oracle(case, inputs):
    """o (batch, heads, head), lse (batch, heads), 0 and -inf for a sequence without keys; moved: all true."""
    found = []
    for sequence, length in enumerate(inputs["seqlens"].tolist()):
        j = torch.arange(length)
        place = inputs["table"][sequence, j // case["page"]].long(), j % case["page"]
        s = case["scale"] * (inputs["q"][sequence] @ inputs["k_pages"][place].T)
        found.append((torch.softmax(s, 1) @ inputs["v_pages"][place], torch.logsumexp(s, 1)))
    o, lse = (torch.stack(parts) for parts in zip(*found, strict=True))
    return {"o": o, "lse": lse, "moved": torch.ones(case["batch"] if case["moved"] else 0, dtype=torch.bool)}


def observe(case, inputs, outputs):
    """o and lse, and for which sequences they are the same to the bit with the keys in other pages."""
    moved = torch.ones(0, dtype=torch.bool)
    if case["moved"]:
        same = [(outputs[name] == outputs[f"{name}_moved"]).reshape(case["batch"], -1).all(1) for name in ("o", "lse")]
        moved = same[0] & same[1]
    return {"o": outputs["o"], "lse": outputs["lse"], "moved": moved}


def limits(case):
    """Proof that each key is read once, for one case: a page at a time, and no page of another."""
    if not case["counted"]:
        return {}
    page, all_keys = case["page"] * case["head"], int(_seqlens(case).sum()) * case["head"]
    return {
        "largest_load.k_pages": page,
        "largest_load.v_pages": page,
        "total_load.k_pages": all_keys,
        "total_load.v_pages": all_keys,
        "largest_dimension": max(case["page"], case["head"], case["block_h"]),
    }
