"""Speech stages of the echo agent: ``Ears`` hears a turn, ``Mind`` words a reply, ``Voice`` speaks it.

Each is a ``StageModel`` (workers/stage.py): synchronous, ``now`` handed in, no thread, no sleep, no clock. The models
and their weights come in wheels (``pip install interlock[speech]``), so nothing is downloaded when they load.
"""
