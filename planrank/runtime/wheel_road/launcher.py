"""Starts Julia from the libraries beside this file; the wheel they come from has no executable."""

import ctypes
import os
import sys

bindir = os.path.dirname(os.path.realpath(__file__))
lib = os.path.join(os.path.dirname(bindir), "lib")
ctypes.CDLL(os.path.join(lib, "libjulia.so.1"), mode=ctypes.RTLD_GLOBAL)
internal = ctypes.CDLL(os.path.join(lib, "julia", "libjulia-internal.so.1"), mode=ctypes.RTLD_GLOBAL)

arguments = [os.path.join(bindir, "julia"), "--home=" + bindir]
if not any(a.startswith(("-J", "--sysimage")) for a in sys.argv[1:]):
    arguments.append("--sysimage=" + os.path.join(lib, "julia", "sys.so"))
encoded = [os.fsencode(a) for a in arguments + sys.argv[1:]]
sys.exit(internal.repl_entrypoint(len(encoded), (ctypes.c_char_p * (len(encoded) + 1))(*encoded, None)))
