"""What keeps a server from starting is one line and exit code 2; what only looks wrong is told."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest
import trio

pytestmark = [pytest.mark.real_clock, pytest.mark.timeout_s(60)]


async def started(*options: str, **environ: str) -> tuple[int, str]:
    """Run a server that ends by itself; return its exit code and what it wrote to its error output."""
    command = [sys.executable, "-m", "interlock", "serve", "--scripted", "1", *options]
    done = await trio.run_process(
        command, capture_stdout=True, capture_stderr=True, check=False, env=dict(os.environ) | environ
    )
    return done.returncode, done.stderr.decode()


async def test_what_cannot_be_served_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        told = {
            f"cannot listen on 127.0.0.1:{port}: Address already in use": ("--port", port),
            "none.pem: there is no such file; a certificate and its key are wanted, in PEM": ("--tls-cert", "none.pem"),
            "access.hook = no_such:f: cannot be imported: No module named 'no_such'": ("--auth-hook", "no_such:f"),
        }
        for line, options in told.items():
            assert await started("--port", "0", *options) == (2, f"interlock: {line}\n")


async def test_a_variable_that_is_no_setting_is_told_and_show_config_serves_nothing() -> None:
    code, told = await started("--show-config", INTERLOCK_SERVICE_PORT="1")
    assert (code, told) == (0, "")
    command = [sys.executable, "-m", "interlock", "serve", "--scripted", "1", "--port", "0"]
    env = dict(os.environ) | {"INTERLOCK_SERVICE_PORT": "1", "INTERLOCK_LOG__FORMAT": "json"}
    process = await trio.lowlevel.open_process(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env)
    assert process.stderr is not None
    try:
        line = bytes(await process.stderr.receive_some())
        assert b'"message": "the variable INTERLOCK_SERVICE_PORT looks like a setting, and is none"' in line
    finally:
        process.kill()
        await process.wait()
        await process.stderr.aclose()
