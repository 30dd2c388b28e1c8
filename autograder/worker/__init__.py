"""The UNTRUSTED side: a fork server and the children that run students' kernels.

Started as a program (``python -m autograder.worker``), never imported by the trusted side.  Nothing in here may load
the judge, an oracle or a solution: what is not in the process cannot be read by a hostile kernel.
"""
