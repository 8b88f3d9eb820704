"""Counts the entries that processes write into a cache: by inotify, as they are renamed into their places."""

import ctypes
import os
import struct

# `IN_MOVED_TO` of sys/inotify.h.
MOVED_TO = 0x80


class CacheWrites:
    """Watches a folder of objects until `count` is called."""

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        libc = ctypes.CDLL(None, use_errno=True)
        self.watch = libc.inotify_init1(os.O_NONBLOCK)
        assert self.watch >= 0 and libc.inotify_add_watch(self.watch, bytes(folder), MOVED_TO) >= 0

    def count(self):
        """Returns how often each entry was written, by name."""
        try:
            events = os.read(self.watch, 1 << 20)
        except BlockingIOError:
            events = b""
        os.close(self.watch)
        at, written = 0, {}
        while at < len(events):
            (size,) = struct.unpack_from("I", events, at + 12)
            name = events[at + 16 : at + 16 + size].rstrip(b"\0").decode()
            written[name] = written.get(name, 0) + 1
            at += 16 + size
        return written
