"""The fast engine: what the session core does, tabulated once per distinct local situation, then packed integers.

A state of the world falls into three kinds of parts that meet in few places: the *front* (attachment, lease,
credential, transports, callers), the *back* (fences, requests, responses, stages), and each client. What a part does is
found out by letting the real core do it, in a state that was really reached, and is remembered; all else is numpy.
"""
