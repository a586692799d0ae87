"""A target for long work: it answers 202 at once, works in a thread, and reports back.

python receiver.py 8001
"""

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import Request, urlopen


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(202)
        self.send_header("Content-Length", "0")
        self.end_headers()
        if url := self.headers.get("Mainspring-Callback-Url"):  # a test call has none
            threading.Thread(target=work, args=(url,)).start()


def work(url: str) -> None:
    for percent in (25, 50, 75):
        time.sleep(0.2)  # a part of the work
        report(f"{url}/progress?percent={percent}")
    report(url, {"rows": 1_000})


def report(url: str, result: object = None) -> None:
    data = b"" if result is None else json.dumps(result).encode()
    urlopen(Request(url, data, {"Content-Type": "application/json"}, method="POST"), timeout=30).close()


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
