"""The operator's channel to the machines: scripts of `firelay update` over HTTP, run by the root shell."""

import functools
import http.server
import threading

from . import HOST

PORT = 81


class Channel:
    def __init__(self, tree):
        handler = functools.partial(Quiet, directory=tree)
        threading.Thread(target=http.server.ThreadingHTTPServer((HOST, PORT), handler).serve_forever, daemon=True).start()

    def script(self, name, *arguments, number=1):
        """The command that runs a machine's script."""
        return f"curl -sS --fail http://{HOST}:{PORT}/update/{number}/{name}.sh | bash -s -- {' '.join(arguments)}"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass
