"""Launch of the student's paged_attention_kernel: one program a sequence; in one case with the keys in other pages too."""


def outputs(case):
    found = {}
    for suffix in _layouts(case):
        found[f"o{suffix}"] = ((case["batch"], case["heads"], case["head"]), "float32")
        found[f"lse{suffix}"] = ((case["batch"], case["heads"]), "float32")
    return found


def launch(run, student, case, inputs, outputs):
    for suffix in _layouts(case):
        run(
            student.paged_attention_kernel,
            (case["batch"],),
            inputs["q"],
            inputs[f"k_pages{suffix}"],
            inputs[f"v_pages{suffix}"],
            inputs[f"table{suffix}"],
            inputs["seqlens"],
            outputs[f"o{suffix}"],
            outputs[f"lse{suffix}"],
            case["heads"],
            inputs["table"].shape[1],
            case["scale"],
            HEAD=case["head"],
            PAGE=case["page"],
            BLOCK_H=case["block_h"],
        )


def _layouts(case):
    return ("", "_moved") if case["moved"] else ("",)
