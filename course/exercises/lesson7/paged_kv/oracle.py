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
    """Proof that each key is read once, for one case: a page at a time, and no page of another.

    And, for all cases, that a program writes one sequence.
    """
    part = {
        **dict.fromkeys(("largest_share.o", "largest_share.o_moved"), case["heads"] * case["head"]),
        **dict.fromkeys(("largest_share.lse", "largest_share.lse_moved"), case["heads"]),
    }
    if not case["counted"]:
        return part
    page, all_keys = case["page"] * case["head"], int(_seqlens(case).sum()) * case["head"]
    return {
        **part,
        "largest_load.k_pages": page,
        "largest_load.v_pages": page,
        "total_load.k_pages": all_keys,
        "total_load.v_pages": all_keys,
        "largest_dimension": max(case["page"], case["head"], case["block_h"]),
    }


# For `grade trace`: the running state is that of the lesson's kernel, whose oracle tells of it. A row is a head, counted
# through all sequences, and a chunk is a page. Each sequence is taken to be as long as the first: keys that it lacks
# are hidden.
STATE_OF = "flash_attention"
STREAMED = ("k_pages", "v_pages")


def by_row(case, x):
    """An output as rows, in the order in which `tile` counts them."""
    return x.flatten(0, 1)


def keys_at(case, inputs, program):
    """Where each key of a program's sequence lies among the slots of all pages."""
    pages = inputs["table"][program].tolist()
    length = int(inputs["seqlens"][program])
    places = [pages[j // case["page"]] * case["page"] + j % case["page"] for j in range(length)]
    return places + [-1] * (case["seqlen"] - length)


def tile(case, program):
    """The first row of a program's tile of heads, the number of its rows that exist, and its height."""
    return program * case["heads"], case["heads"], case["block_h"]


def chunks(case):
    """The first and last key in each page, in the order of the keys."""
    starts = range(0, case["seqlen"], case["page"])
    return [(first, min(first + case["page"], case["seqlen"]) - 1) for first in starts]


def _scores_and_values(case, inputs, program):
    """s (heads, seqlen) of a program's sequence, and v (seqlen, head), both in the order of the keys."""
    places = [place for place in keys_at(case, inputs, program) if place >= 0]
    k, v = (inputs[name].flatten(0, 1)[torch.tensor(places, dtype=torch.long)] for name in STREAMED)
    lacking, pad = case["seqlen"] - len(places), torch.nn.functional.pad
    s = case["scale"] * (inputs["q"][program] @ k.T)
    return pad(s, (0, lacking), value=float("-inf")), pad(v, (0, 0, 0, lacking))


def states(case, inputs, program, taken):
    """The state of a program's rows after each step of a loop; ``taken`` holds the keys that each step takes.

    Of the scores s of the keys seen so far: m (rows,) = max s, l (rows,) = sum exp(s - m) and
    acc (rows, head) = sum exp(s - m) v; before a row sees a key its m = -inf, l = 0 and acc = 0.
    """
    s, v = _scores_and_values(case, inputs, program)
    seen = torch.zeros(s.shape[1], dtype=torch.bool)
    found = []
    for keys in taken:
        seen[list(keys)] = True
        visible = s.masked_fill(~seen, float("-inf"))
        m = visible.amax(1)
        p = torch.exp(visible - torch.where(torch.isinf(m), 0.0, m)[:, None])
        found.append({"m": m, "l": p.sum(1), "acc": p @ v})
    return found


def given(case, inputs, program, chunk):
    """What a function that takes a chunk in gets to see of it, by the name that online_softmax_update gives it."""
    first, last = chunks(case)[chunk]
    s = _scores_and_values(case, inputs, program)[0][:, first : last + 1]
    return {"s": torch.nn.functional.pad(s, (0, case["page"] - s.shape[1]), value=float("-inf"))}
