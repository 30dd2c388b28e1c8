"""Everest: attention forward in Gluon for Hopper GPUs, where Triton itself stops.

Triton decides by itself which warps load, when a matrix product is waited for, and where tiles lie in registers.  Gluon
(`triton.experimental.gluon`) is the same language one floor below, in which all of this is written down.  Two kernels:

* `warp_specialised`, for head dimension 128: one warp only loads, two warpgroups only compute, each its own 64 rows.
  While one is busy with a softmax the other keeps the matrix units busy.
* `one_warpgroup`, for head dimension 64: a program is small enough for several of them to share a multiprocessor, which
  then overlaps them by itself.

Both issue the scores of the next chunk before the weighted sum of this one, so that a softmax always has a matrix
product beside it (Shah et al. 2024, "FlashAttention-3", arXiv 2407.08608, section 3.2, of which this is a small
relative).

Nothing here is graded.  `attention` runs it, `missing` says what it lacks on a machine.
"""

import math

import torch
import triton

try:
    from triton.experimental import gluon
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.language.nvidia.hopper import (
        fence_async_shared,
        mbarrier,
        tma,
        warpgroup_mma,
        warpgroup_mma_wait,
    )
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

    copy_in = getattr(tma, "async_load", None) or tma.async_copy_global_to_shared  # the names of 3.9, and of 3.6
    copy_out = getattr(tma, "async_store", None) or tma.async_copy_shared_to_global
    barrier = getattr(gl, "barrier", None) or gl.thread_barrier

    PROBLEM = None
except (ImportError, AttributeError) as error:  # experimental: names move between versions
    PROBLEM = f"This Triton ({triton.__version__}) has another Gluon than Everest was written for ({error})."

TRIED = "3.6"  # the version of Triton that it was run with
LOG2E = 1.4426950408889634


def missing():
    """Why Everest cannot run here, in a sentence; None if it can."""
    if PROBLEM:
        return f"{PROBLEM} It was tried with Triton {TRIED}."
    if not torch.cuda.is_available():
        return "Everest needs a Hopper GPU (H100, H200), and there is no CUDA GPU here."
    major, minor = torch.cuda.get_device_capability()
    if major != 9:
        return f"Everest is written for Hopper GPUs (sm_90), and this is an sm_{major}{minor}."
    return None


def attention(q, k, v, causal, out=None, lse=None):
    """softmax(q k^T / sqrt(head_dim)) v, and the log-sum-exp of the scaled scores.

    q, k, v (batch, heads, seqlen, head_dim), contiguous, bfloat16 or float16, head_dim 64 or 128, any seqlen.  Returns
    ``out`` of the same shape and dtype, and ``lse`` (batch, heads, seqlen), float32; both are made if not given.

    Raises:
        RuntimeError: this machine cannot run it, or the inputs are others.
    """
    if sentence := missing():
        raise RuntimeError(sentence)
    head_dim = q.shape[-1]
    contiguous = all(x.is_contiguous() for x in (q, k, v))
    if head_dim not in (64, 128) or q.dtype not in (torch.bfloat16, torch.float16) or not contiguous:
        raise RuntimeError("Everest takes contiguous bfloat16 or float16 tensors with head_dim 64 or 128.")
    out = torch.empty_like(q) if out is None else out
    lse = torch.empty(q.shape[:-1], dtype=torch.float32, device=q.device) if lse is None else lse
    launch(q, k, v, out, lse, causal)
    return out, lse


def launch(q, k, v, out, lse, causal):
    """Launch the kernel that fits; returns it compiled, with its registers and shared memory."""
    kernel, grid, args, meta = prepared(q, k, v, out, lse, causal)
    return kernel[grid](*args, **meta)


def prepared(q, k, v, out, lse, causal):
    """The kernel that fits these tensors, its grid, its arguments and its constants."""
    batch, heads, seqlen, head_dim = q.shape
    several = batch * heads
    dtype = gl.bfloat16 if q.dtype == torch.bfloat16 else gl.float16
    block_n, warpgroups = 128, 2 if head_dim == 128 else 1
    block_m = 64 * warpgroups

    def tiles_of(x, rows):
        layout = gl.NVMMASharedLayout.get_default_for([1, rows, head_dim], dtype)
        shape, strides = [several, seqlen, head_dim], [seqlen * head_dim, head_dim, 1]
        return TensorDescriptor(x.view(several, seqlen, head_dim), shape, strides, [1, rows, head_dim], layout)

    args = (tiles_of(q, 64), tiles_of(k, block_n), tiles_of(v, block_n), tiles_of(out, 64), lse, seqlen, several)
    meta = {
        "qk_scale": LOG2E / math.sqrt(head_dim),
        "BLOCK_N": block_n,
        "D": head_dim,
        "CAUSAL": causal,
        "RAGGED": seqlen % block_n != 0,
        "STAGES": 2,
        # With a causal mask the long tiles go first, of several heads at a time: their keys stay in the L2 cache.
        "GROUP": (4 if head_dim == 128 else 8) if causal and seqlen <= 8192 and several % 8 == 0 else 1,
        "num_warps": 4,
    }
    kernel = warp_specialised if head_dim == 128 else one_warpgroup
    return kernel, (several * triton.cdiv(seqlen, block_m),), args, meta


if PROBLEM is None:

    @gluon.jit
    def _my_tile(seqlen, BLOCK_M: gl.constexpr, GROUP: gl.constexpr):
        """Which head, and which query tile of it, is this program's: the last tiles of ``GROUP`` heads first."""
        tiles = gl.cdiv(seqlen, BLOCK_M)
        pid = gl.program_id(0)
        within = pid % (tiles * GROUP)
        head = pid // (tiles * GROUP) * GROUP + within % GROUP
        return head, (tiles - 1 - within // GROUP) * BLOCK_M

    @gluon.jit
    def _chunks(row, seqlen, BLOCK_M: gl.constexpr, BLOCK_N: gl.constexpr, CAUSAL: gl.constexpr):
        """How many chunks of keys a tile of queries sees, and how many of them need a mask, counted from the last."""
        if CAUSAL:
            n_chunks = gl.cdiv(gl.minimum(row + BLOCK_M, seqlen), BLOCK_N)
            n_masked = n_chunks - row // BLOCK_N
        else:
            n_chunks = gl.cdiv(seqlen, BLOCK_N)
            n_masked = 1
        return n_chunks, n_masked

    @gluon.jit
    def _visible(s, rows, keys, seqlen, CAUSAL: gl.constexpr):
        """s (64, BLOCK_N) with -inf where a row may not look: the future, and keys behind the end."""
        if CAUSAL:  # ghost keys lie in every real row's future
            s = gl.where(rows[:, None] >= keys[None, :], s, float("-inf"))
        else:
            s = gl.where((keys < seqlen)[None, :], s, float("-inf"))
        return s

    @gluon.jit
    def _start(s, qk_scale, CAUSAL: gl.constexpr):
        """The running state after the first chunk: p, m_i, l_i."""
        m_i = gl.max(s, 1)
        if CAUSAL:  # a first chunk may lie in the future of a whole row
            m_i = gl.where(m_i == float("-inf"), -1.0e30, m_i)
        p = gl.exp2(s * qk_scale - (m_i * qk_scale)[:, None])
        return p, m_i, gl.sum(p, 1)

    @gluon.jit
    def _update(s, m_i, l_i, qk_scale):
        """The online softmax: p of this chunk, alpha for what came before, and m_i, l_i."""
        m_new = gl.maximum(m_i, gl.max(s, 1))
        alpha = gl.exp2((m_i - m_new) * qk_scale)
        p = gl.exp2(s * qk_scale - (m_new * qk_scale)[:, None])
        return p, alpha, m_new, l_i * alpha + gl.sum(p, 1)

    @gluon.jit
    def _finish(acc, m_i, l_i, lse_ptr, o_desc, q_smem, head, row, rows, seqlen, qk_scale, o_layout: gl.constexpr):
        """Divide, and store o through the shared memory of q, which nobody needs any more, and lse."""
        D: gl.constexpr = o_desc.block_type.shape[2]
        acc = acc / gl.convert_layout(l_i, gl.SliceLayout(1, o_layout))[:, None]
        lse = (m_i * qk_scale + gl.log2(l_i)) * 0.6931471805599453
        gl.store(lse_ptr + head * seqlen + rows, lse, mask=rows < seqlen)
        q_smem.reshape([64, D]).store(acc.to(o_desc.dtype))
        fence_async_shared()
        copy_out(o_desc, [head, row, 0], q_smem)
        tma.store_wait(0)

    @gluon.jit
    def _barriers(STAGES: gl.constexpr, count: gl.constexpr):
        """A barrier for each stage, which opens after ``count`` arrivals."""
        bars = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
        for i in gl.static_range(STAGES):
            mbarrier.init(bars.index(i), count=count)
        return bars

    # ---- head dimension 64: one warpgroup a program

    @gluon.jit
    def _load(desc, smem, full, head, key, stage, wanted):
        """Begin to copy a chunk; ``full`` opens when it has arrived."""
        mbarrier.expect(full.index(stage), desc.block_type.nbytes, pred=wanted)
        copy_in(desc, [head, key, 0], full.index(stage), smem.index(stage), pred=wanted)

    @gluon.jit
    def one_warpgroup(
        q_desc, k_desc, v_desc, o_desc, lse_ptr, seqlen, heads, qk_scale,
        BLOCK_N: gl.constexpr, D: gl.constexpr, CAUSAL: gl.constexpr, RAGGED: gl.constexpr,
        STAGES: gl.constexpr, GROUP: gl.constexpr,
    ):  # fmt: skip
        """64 rows a program; k and v (BLOCK_N, D) arrive STAGES chunks ahead."""
        dtype: gl.constexpr = q_desc.dtype
        s_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK_N, 16])
        o_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, D, 16])
        p_layout: gl.constexpr = gl.DotOperandLayout(0, o_layout, 2)

        head, row = _my_tile(seqlen, 64, GROUP)
        n_chunks, _ = _chunks(row, seqlen, 64, BLOCK_N, CAUSAL)
        last = n_chunks - 1
        q_smem = gl.allocate_shared_memory(dtype, [1, 64, D], q_desc.layout)
        k_smem = gl.allocate_shared_memory(dtype, [STAGES, 1, BLOCK_N, D], k_desc.layout)
        v_smem = gl.allocate_shared_memory(dtype, [STAGES, 1, BLOCK_N, D], v_desc.layout)
        q_full, k_full, v_full = _barriers(1, 1), _barriers(STAGES, 1), _barriers(STAGES, 1)
        fence_async_shared()
        mbarrier.expect(q_full.index(0), q_desc.block_type.nbytes)
        copy_in(q_desc, [head, row, 0], q_full.index(0), q_smem)
        for i in gl.static_range(STAGES):
            _load(k_desc, k_smem, k_full, head, (last - i) * BLOCK_N, i, i < n_chunks)
            _load(v_desc, v_smem, v_full, head, (last - i) * BLOCK_N, i, i < n_chunks)

        q = q_smem.reshape([64, D])
        rows = row + gl.arange(0, 64, layout=gl.SliceLayout(1, s_layout))
        cols = gl.arange(0, BLOCK_N, layout=gl.SliceLayout(0, s_layout))
        zero = gl.zeros([64, BLOCK_N], gl.float32, s_layout)
        acc = gl.zeros([64, D], gl.float32, o_layout)

        # The last chunk first: it alone can need a mask, as a tile has 64 rows and a chunk at least as many keys.
        mbarrier.wait(q_full.index(0), 0)
        mbarrier.wait(k_full.index(0), 0)
        k = k_smem.index(0).reshape([BLOCK_N, D]).permute((1, 0))
        s = warpgroup_mma_wait(0, deps=[warpgroup_mma(q, k, zero, use_acc=False, is_async=True)])
        if CAUSAL or RAGGED:
            s = _visible(s, rows, last * BLOCK_N + cols, seqlen, CAUSAL)
        p, m_i, l_i = _start(s, qk_scale, False)
        weights = gl.convert_layout(p.to(dtype), p_layout)
        barrier()
        _load(k_desc, k_smem, k_full, head, (last - STAGES) * BLOCK_N, 0, n_chunks > STAGES)
        for j in range(1, n_chunks):
            stage, before = j % STAGES, (j - 1) % STAGES
            mbarrier.wait(k_full.index(stage), (j // STAGES) & 1)
            k = k_smem.index(stage).reshape([BLOCK_N, D]).permute((1, 0))
            s_coming = warpgroup_mma(q, k, zero, use_acc=False, is_async=True)
            mbarrier.wait(v_full.index(before), ((j - 1) // STAGES) & 1)
            v = v_smem.index(before).reshape([BLOCK_N, D])
            acc_coming = warpgroup_mma(weights, v, acc, is_async=True)
            s = warpgroup_mma_wait(1, deps=[s_coming])  # the older of the two; the other goes on during the softmax
            p, alpha, m_i, l_i = _update(s, m_i, l_i, qk_scale)
            acc = warpgroup_mma_wait(0, deps=[acc_coming])
            barrier()  # all warps are done with the chunks that are overwritten now
            _load(k_desc, k_smem, k_full, head, (last - j - STAGES) * BLOCK_N, stage, j + STAGES < n_chunks)
            _load(v_desc, v_smem, v_full, head, (last - j + 1 - STAGES) * BLOCK_N, before, j - 1 + STAGES < n_chunks)
            acc = acc * gl.convert_layout(alpha, gl.SliceLayout(1, o_layout))[:, None]
            weights = gl.convert_layout(p.to(dtype), p_layout)
        mbarrier.wait(v_full.index(last % STAGES), (last // STAGES) & 1)
        v = v_smem.index(last % STAGES).reshape([BLOCK_N, D])
        acc = warpgroup_mma_wait(0, deps=[warpgroup_mma(weights, v, acc, is_async=True)])
        _finish(acc, m_i, l_i, lse_ptr, o_desc, q_smem, head, row, rows, seqlen, qk_scale, o_layout)

    # ---- head dimension 128: one warp loads, two warpgroups compute

    @gluon.jit
    def _loader(
        q_desc, k_desc, v_desc, q_smem, k_smem, v_smem, q_full, k_full, k_empty, v_full, v_empty,
        head, row, last, n_chunks, STAGES: gl.constexpr, BLOCK_N: gl.constexpr,
    ):  # fmt: skip
        """Copy q once and each chunk as soon as both warpgroups are done with the one that lay there."""
        mbarrier.expect(q_full.index(0), q_desc.block_type.nbytes * 2)
        for i in gl.static_range(2):
            copy_in(q_desc, [head, row + 64 * i, 0], q_full.index(0), q_smem.index(i))
        for j in range(n_chunks):
            stage, turn = j % STAGES, (j // STAGES) & 1
            key = (last - j) * BLOCK_N
            mbarrier.wait(k_empty.index(stage), turn ^ 1)
            _load(k_desc, k_smem, k_full, head, key, stage, True)
            mbarrier.wait(v_empty.index(stage), turn ^ 1)
            _load(v_desc, v_smem, v_full, head, key, stage, True)

    @gluon.jit
    def _step(
        q, k_smem, v_smem, k_full, k_empty, v_full, v_empty, j, last, rows, cols, seqlen, qk_scale, zero,
        weights, acc, m_i, l_i, STAGES: gl.constexpr, BLOCK_N: gl.constexpr, D: gl.constexpr,
        MASKED: gl.constexpr, CAUSAL: gl.constexpr, dtype: gl.constexpr,
        o_layout: gl.constexpr, p_layout: gl.constexpr,
    ):  # fmt: skip
        """The scores of chunk j beside the weighted sum of chunk j - 1, then the softmax of chunk j."""
        stage, before = j % STAGES, (j - 1) % STAGES
        mbarrier.wait(k_full.index(stage), (j // STAGES) & 1)
        k = k_smem.index(stage).reshape([BLOCK_N, D]).permute((1, 0))
        s_coming = warpgroup_mma(q, k, zero, use_acc=False, is_async=True)
        mbarrier.wait(v_full.index(before), ((j - 1) // STAGES) & 1)
        v = v_smem.index(before).reshape([BLOCK_N, D])
        acc_coming = warpgroup_mma(weights, v, acc, is_async=True)
        s = warpgroup_mma_wait(1, deps=[s_coming])
        mbarrier.arrive(k_empty.index(stage))
        if MASKED:
            s = _visible(s, rows, (last - j) * BLOCK_N + cols, seqlen, CAUSAL)
        p, alpha, m_i, l_i = _update(s, m_i, l_i, qk_scale)
        acc = warpgroup_mma_wait(0, deps=[acc_coming])
        mbarrier.arrive(v_empty.index(before))
        acc = acc * gl.convert_layout(alpha, gl.SliceLayout(1, o_layout))[:, None]
        weights = gl.convert_layout(p.to(dtype), p_layout)
        return weights, acc, m_i, l_i

    @gluon.jit
    def _worker(
        o_desc, lse_ptr, q_smem, k_smem, v_smem, q_full, k_full, k_empty, v_full, v_empty,
        head, row, last, n_chunks, n_masked, seqlen, qk_scale, WHICH: gl.constexpr, STAGES: gl.constexpr,
        BLOCK_N: gl.constexpr, D: gl.constexpr, CAUSAL: gl.constexpr, RAGGED: gl.constexpr,
    ):  # fmt: skip
        """One of the two warpgroups: rows 64 * WHICH to 64 * WHICH + 63 of the tile."""
        dtype: gl.constexpr = o_desc.dtype
        s_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK_N, 16])
        o_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, D, 16])
        p_layout: gl.constexpr = gl.DotOperandLayout(0, o_layout, 2)
        mine = q_smem.index(WHICH)
        q = mine.reshape([64, D])
        row = row + 64 * WHICH
        rows = row + gl.arange(0, 64, layout=gl.SliceLayout(1, s_layout))
        cols = gl.arange(0, BLOCK_N, layout=gl.SliceLayout(0, s_layout))
        zero = gl.zeros([64, BLOCK_N], gl.float32, s_layout)
        acc = gl.zeros([64, D], gl.float32, o_layout)

        mbarrier.wait(q_full.index(0), 0)
        mbarrier.wait(k_full.index(0), 0)
        k = k_smem.index(0).reshape([BLOCK_N, D]).permute((1, 0))
        s = warpgroup_mma_wait(0, deps=[warpgroup_mma(q, k, zero, use_acc=False, is_async=True)])
        mbarrier.arrive(k_empty.index(0))
        if CAUSAL or RAGGED:
            s = _visible(s, rows, last * BLOCK_N + cols, seqlen, CAUSAL)
        p, m_i, l_i = _start(s, qk_scale, CAUSAL)
        weights = gl.convert_layout(p.to(dtype), p_layout)
        if CAUSAL:  # chunks on the diagonal, then those below it
            for j in range(1, n_masked):
                weights, acc, m_i, l_i = _step(
                    q, k_smem, v_smem, k_full, k_empty, v_full, v_empty, j, last, rows, cols, seqlen, qk_scale, zero,
                    weights, acc, m_i, l_i, STAGES, BLOCK_N, D, True, CAUSAL, dtype, o_layout, p_layout,
                )  # fmt: skip
        for j in range(n_masked, n_chunks):
            weights, acc, m_i, l_i = _step(
                q, k_smem, v_smem, k_full, k_empty, v_full, v_empty, j, last, rows, cols, seqlen, qk_scale, zero,
                weights, acc, m_i, l_i, STAGES, BLOCK_N, D, False, CAUSAL, dtype, o_layout, p_layout,
            )  # fmt: skip
        stage = last % STAGES
        mbarrier.wait(v_full.index(stage), (last // STAGES) & 1)
        v = v_smem.index(stage).reshape([BLOCK_N, D])
        acc = warpgroup_mma_wait(0, deps=[warpgroup_mma(weights, v, acc, is_async=True)])
        _finish(acc, m_i, l_i, lse_ptr, o_desc, mine, head, row, rows, seqlen, qk_scale, o_layout)

    @gluon.jit
    def warp_specialised(
        q_desc, k_desc, v_desc, o_desc, lse_ptr, seqlen, heads, qk_scale,
        BLOCK_N: gl.constexpr, D: gl.constexpr, CAUSAL: gl.constexpr, RAGGED: gl.constexpr,
        STAGES: gl.constexpr, GROUP: gl.constexpr,
    ):  # fmt: skip
        """128 rows a program, 64 for each of two warpgroups, and a warp that only loads."""
        dtype: gl.constexpr = q_desc.dtype
        head, row = _my_tile(seqlen, 128, GROUP)
        n_chunks, n_masked = _chunks(row, seqlen, 128, BLOCK_N, CAUSAL)
        last = n_chunks - 1
        q_smem = gl.allocate_shared_memory(dtype, [2, 1, 64, D], q_desc.layout)
        k_smem = gl.allocate_shared_memory(dtype, [STAGES, 1, BLOCK_N, D], k_desc.layout)
        v_smem = gl.allocate_shared_memory(dtype, [STAGES, 1, BLOCK_N, D], v_desc.layout)
        q_full = _barriers(1, 1)
        k_full, v_full = _barriers(STAGES, 1), _barriers(STAGES, 1)
        k_empty, v_empty = _barriers(STAGES, 2), _barriers(STAGES, 2)
        fence_async_shared()
        gl.warp_specialize(
            [
                (_worker, (
                    o_desc, lse_ptr, q_smem, k_smem, v_smem, q_full, k_full, k_empty, v_full, v_empty,
                    head, row, last, n_chunks, n_masked, seqlen, qk_scale, 0, STAGES, BLOCK_N, D, CAUSAL, RAGGED,
                )),
                (_worker, (
                    o_desc, lse_ptr, q_smem, k_smem, v_smem, q_full, k_full, k_empty, v_full, v_empty,
                    head, row, last, n_chunks, n_masked, seqlen, qk_scale, 1, STAGES, BLOCK_N, D, CAUSAL, RAGGED,
                )),
                (_loader, (
                    q_desc, k_desc, v_desc, q_smem, k_smem, v_smem, q_full, k_full, k_empty, v_full, v_empty,
                    head, row, last, n_chunks, STAGES, BLOCK_N,
                )),
            ],
            [4, 4],  # warps of the second warpgroup, and of the loader, which needs few registers
            [240, 24],
        )  # fmt: skip
