"""The codec between bytes and messages: pure, and strict on the way in.

:mod:`~interlock.wire.inbound` parses what a client sent, :mod:`~interlock.wire.messages` has its results;
:mod:`~interlock.wire.outbound` and :mod:`~interlock.wire.lifecycle` encode what the client reads, in one of two ways to
say hello and goodbye (:mod:`~interlock.wire.dialect`); :mod:`~interlock.wire.items` has the items of a conversation,
:mod:`~interlock.wire.session_object` what a session looks like to a client;
:mod:`~interlock.wire.codes` has the error codes and the close codes.
"""
