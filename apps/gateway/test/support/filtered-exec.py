"""Runs a program under the filter of system calls that a systemd unit would give it.

    filtered-exec.py '{"allowed": [...], "errno": "EPERM", "families": [...]}' PROGRAM ARGUMENT...

Sets the filter by libseccomp, as systemd does, for machines on which systemd does not run.
"""

import errno
import json
import os
import socket
import sys

import seccomp

given = json.loads(sys.argv[1])
refusal = seccomp.ERRNO(getattr(errno, given["errno"]))
filtering = seccomp.SyscallFilter(refusal)
for name in given["allowed"]:
    try:
        number = seccomp.resolve_syscall(seccomp.Arch(), name)
    except RuntimeError:
        continue  # This version of libseccomp does not know it.
    # A negative number is a call that only other architectures have.
    if number < 0:
        continue
    if name != "socket":
        filtering.add_rule(seccomp.ALLOW, number)
        continue
    for family in given["families"]:
        kind = getattr(socket, family)
        filtering.add_rule(seccomp.ALLOW, number, seccomp.Arg(0, seccomp.EQ, kind))
filtering.load()
os.execvp(sys.argv[2], sys.argv[2:])
