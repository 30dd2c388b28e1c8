"""What wrong kernels leave in the caches: a torch model of each known mistake, with what to tell the student about it.

A model goes through the tokens one by one, as no right kernel does. Where several rows land in one place, or a kernel
reads what another has written, it says nothing: what comes of that is a matter of order.
"""

import torch

NAN = float("nan")
_OUTSIDE = r"(?:stores outside|wrote (?:past the end|before the start) of) [kv]_cache\b"


def _append(case, inputs, *, slots=None, columns=None, source=None, target=None, values=("k", "v")):
    """The caches after a copy of ``columns`` elements a token, from ``source`` of the token to ``target`` of its slot.

    ``slots`` are the slots as the kernel takes them, negative ones left out; ``values`` are the tensors that the two
    caches are filled from, None for none.
    """
    slots = (inputs["slots"] if slots is None else slots).tolist()
    columns, width, stride = columns or case["width"], case["width"], case["stride"]
    caches = {}
    for name, tensor in zip(("k", "v"), values, strict=True):
        cache = inputs[f"{name}_held"].flatten().clone()
        written = {}
        for token, slot in enumerate(slots if tensor else ()):
            if slot < 0:
                continue
            rows = inputs[tensor].flatten()
            start = token * (source or stride)
            if start + columns > len(rows) and case["device"] == "cpu":
                return r"loads outside [kv]\b"
            row = torch.nn.functional.pad(rows, (0, columns), value=NAN)[start : start + columns]
            place = slot * (target or width)
            if place + columns > len(cache):
                return _OUTSIDE
            for at, value in enumerate(row.tolist(), place):
                if written.setdefault(at, value) != value:
                    return {}
                cache[at] = value
        caches[f"{name}_cache"] = cache.reshape(case["pool"], width)
    return caches


def padding_written(case, inputs):
    """Padding is copied as well: slot -1 is the row before the start of the cache.

    Which slots does the docstring speak of besides the real ones? Look at what keeps a token from being copied.
    """
    return _OUTSIDE if case["padding"] else _append(case, inputs)


def padding_to_slot_0(case, inputs):
    """Padding lands in slot 0 and overwrites the row of another request.

    A token that is not to be copied needs a mask, not another slot.
    """
    return _append(case, inputs, slots=inputs["slots"].clamp(min=0))


def padding_at_the_end(case, inputs):
    """As many tokens are copied as have a slot, counted from the start: padding is taken to stand at the end.

    Padding may stand anywhere. What does each token by itself say about whether it is to be copied?
    """
    slots = inputs["slots"].clone()
    slots[int((slots >= 0).sum()) :] = -1
    return _append(case, inputs, slots=slots)


def slot_0_left_out(case, inputs):
    """The token whose slot is 0 is not copied.

    Slots count from 0, and only -1 stands for none. Look at the comparison.
    """
    return _append(case, inputs, slots=torch.where(inputs["slots"] == 0, -1, inputs["slots"]))


def place_for_slot(case, inputs):
    """Tokens are copied to the slots of their places in the batch, whatever slots says.

    Look at the rows of the store: is it the token's number that belongs there?
    """
    return _append(case, inputs, slots=torch.where(inputs["slots"] < 0, -1, torch.arange(case["tokens"])))


def slots_counted_on(case, inputs):
    """The tokens of a tile are copied to slots that lie side by side, counted from the tile's first.

    Slots come in any order. Look at how many of them a program loads.
    """
    slots = inputs["slots"].clone()
    for start in range(0, case["tokens"], case["block_t"]):
        tile = slots[start : start + case["block_t"]]
        tile[:] = tile[0] + torch.arange(len(tile)) if tile[0] >= 0 else -1
    return _append(case, inputs, slots=slots)


def caches_swapped(case, inputs):
    """Keys are in the cache of the values, and values in that of the keys.

    Read the lines that store from left to right: which pointer goes with which tile?
    """
    return _append(case, inputs, values=("v", "k"))


def values_from_keys(case, inputs):
    """Both caches hold the keys.

    Look at the pointer that the values are loaded from.
    """
    return _append(case, inputs, values=("k", "k"))


def values_left_out(case, inputs):
    """The keys are copied, and the cache of the values holds what it held.

    Look for the store of the values.
    """
    return _append(case, inputs, values=("k", None))


def stride_ignored(case, inputs):
    """The rows of k and v are read WIDTH apart, where they lie STRIDE apart.

    Where does the row of token 1 begin if each row is a slice of a wider one?
    """
    return _append(case, inputs, source=case["width"])


def stride_in_the_cache(case, inputs):
    """The rows of the caches are taken to lie STRIDE apart: that is the distance of the rows of k and v.

    Where does slot 1 begin in a contiguous tensor of WIDTH columns?
    """
    return _append(case, inputs, target=case["stride"])


def slots_a_tile_apart(case, inputs):
    """The rows of the caches are taken to lie BLOCK_W apart, as if they were as wide as the tile.

    Where does slot 1 begin in a contiguous tensor of WIDTH columns?
    """
    return _append(case, inputs, target=case["block_w"])


def columns_unmasked(case, inputs):
    """More columns are copied than a row has: the end of the tile is written into the next slot.

    Look at the mask: which columns of a tile does a row of WIDTH elements have?
    """
    last = int(inputs["slots"].max())
    loads = case["stride"] < case["block_w"] and int(inputs["slots"][-1]) >= 0
    stores = last * case["width"] + case["block_w"] > case["pool"] * case["width"]
    if case["device"] == "cpu" and (loads or stores):
        return r"(?:loads outside [kv]|stores outside [kv]_cache)\b"
    return _append(case, inputs, columns=case["block_w"])


def slots_behind_the_end(case, inputs):
    """Slots are loaded from behind the end of their list.

    A last tile may have fewer tokens than rows. Which mask does the load of the slots need, and what stands in for the
    slots that do not exist?
    """
    if case["device"] == "cuda":
        return {}
    return r"loads outside slots\b" if case["tokens"] % case["block_t"] else _append(case, inputs)


def ghost_tokens_copied(case, inputs):
    """Tokens behind the last one are copied: their rows are read from behind the end of k and v.

    What do the slots that do not exist read as, and does the comparison leave that out?
    """
    if case["tokens"] % case["block_t"] == 0:
        return _append(case, inputs)
    if case["device"] == "cpu":
        return r"loads outside [kv]\b"
    if bool((inputs["slots"] == 0).any()):
        return {}
    caches = _append(case, inputs)
    for cache in caches.values() if isinstance(caches, dict) else ():
        cache[0] = NAN
    return caches


def rest_of_the_tile_zeroed(case, inputs):
    """Zeros are written to slot 0 for tokens that do not exist or are padding.

    Look at the masks of the stores: are they those of the loads?
    """
    idle = case["padding"] or case["tokens"] % case["block_t"]
    if not idle:
        return _append(case, inputs)
    if bool((inputs["slots"] == 0).any()):
        return {}
    caches = _append(case, inputs)
    for cache in caches.values():
        cache[0] = 0.0
    return caches


MISTAKES = (
    padding_written,
    padding_to_slot_0,
    padding_at_the_end,
    slot_0_left_out,
    place_for_slot,
    slots_counted_on,
    caches_swapped,
    values_from_keys,
    values_left_out,
    stride_ignored,
    stride_in_the_cache,
    slots_a_tile_apart,
    columns_unmasked,
    slots_behind_the_end,
    ghost_tokens_copied,
    rest_of_the_tile_zeroed,
)

# What outputs cannot tell: how often something is read.
SIGNS = (
    (
        "done_by_every_program",
        "fail",
        r"\belements of (?:k|v) are loaded in all|\bone program stores",
        "A program does more than its own part, as where every program does the work of all.\n\n"
        "Which elements does it own, and where does its number say so?",
    ),
)
