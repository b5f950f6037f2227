# SPDX-License-Identifier: MIT
"""A pseudo-terminal for a tool to write to."""

import fcntl
import os
import pty
import struct
import termios
import threading


class Screen:
    """A terminal of so many columns, which records everything written to it."""

    def __init__(self, columns, seen=lambda text: None):
        self.screen, self.terminal = pty.openpty()
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.data, self.seen = b"", seen
        self.watcher = threading.Thread(target=self.watch)

    def watch(self):
        try:
            while data := os.read(self.screen, 65536):
                self.data += data
                self.seen(self.data)
        except OSError:  # the terminal is closed
            pass

    @property
    def text(self):
        return self.data.replace(b"\r\n", b"\n")

    def __enter__(self):
        self.watcher.start()
        return self

    def __exit__(self, *_):
        os.close(self.terminal)
        self.watcher.join()
        os.close(self.screen)
