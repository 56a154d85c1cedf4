# Part of Hocket, under the Apache License v2.0.
"""A stand-in for the store that torchrun's agent keeps: c10d's TCPStore.

It has the port, as the agent's has, and knows what a worker needs to find the
others, as torch/csrc/distributed/c10d/TCPStoreBackend.cpp (PyTorch 2.1 and
later) answers it. A query that it does not know ends the connection.
"""

import socket
import socketserver
import struct
import threading

VALIDATE, SET, GET, CHECK = 0, 1, 3, 5
MAGIC = 0x3C85F7CE


class Connection(socketserver.BaseRequestHandler):
    def read(self, size):
        data = b""
        while len(data) < size:
            more = self.request.recv(size - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def number(self, form):
        return struct.unpack(form, self.read(struct.calcsize(form)))[0]

    def text(self):
        return self.read(self.number("=Q"))

    def handle(self):
        try:
            if self.number("=B") != VALIDATE or self.number("=I") != MAGIC:
                return
            while self.answer(self.number("=B")):
                pass
        except (EOFError, ConnectionError):
            pass

    def answer(self, query):
        values = self.server.values
        if query == SET:
            key, value = self.text(), self.text()
            values[key] = value
        elif query == GET:
            value = values[self.text()]
            self.request.sendall(struct.pack("=Q", len(value)) + value)
        elif query == CHECK:
            keys = [self.text() for _ in range(self.number("=Q"))]
            missing = any(key not in values for key in keys)
            self.request.sendall(struct.pack("=B", missing))
        else:
            return False
        return True


class TcpStore(socketserver.ThreadingTCPServer):
    """Serves from the start to the end of a `with`; `port` is where."""

    daemon_threads = True
    address_family = socket.AF_INET

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Connection)
        self.values = {}
        self.port = self.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error):
        self.shutdown()
        self.server_close()
