"""The TRUSTED side: inputs, float64 oracles, tolerance and verdicts.  Torch only; it never sees a student's source."""
