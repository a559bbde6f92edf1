"""A torch model as a stage: one batch a step for all requests, state in slots, on ``cuda`` where there is one.

``batch.py`` says what a model is, ``pool.py`` where its state lives, ``device.py`` what differs between a CPU and a
GPU, ``flight.py`` how a step's inputs go up and its outputs come down, and ``stage.py`` drives them all. Importing any
of them imports torch, so that only the worker that owns the model does.
"""
