"""As much of curl as our documents use, for machines without it: `python -m tests.harness.curl -X PUT -H 'A: b' URL`.

Standard library alone, so that it starts quickly. Anything but success is its error, as with --fail-with-body.
"""

import argparse
import sys
from http.client import HTTPConnection
from urllib.parse import urlsplit

FAILED = 22  # what curl ends with for an answer of 400 and above


def main() -> int:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("url")
    parser.add_argument("-X", dest="method", default="")
    parser.add_argument("-H", dest="headers", action="append", default=[])
    parser.add_argument("-d", dest="body")
    parser.add_argument("-s", dest="silent", action="store_true")
    parser.add_argument("-i", dest="head", action="store_true")
    asked = parser.parse_args()

    url = urlsplit(asked.url)
    connection = HTTPConnection(url.netloc, timeout=60)
    headers = dict(header.split(": ", 1) for header in asked.headers)
    method = asked.method or ("GET" if asked.body is None else "POST")
    connection.request(method, url.path + (url.query and f"?{url.query}"), asked.body, headers)
    answer = connection.getresponse()
    if asked.head:
        print("\r\n".join(f"{name.lower()}: {value}" for name, value in answer.getheaders()), end="\r\n\r\n")
    print(answer.read().decode())
    connection.close()
    return FAILED if answer.status >= 400 else 0


if __name__ == "__main__":
    sys.exit(main())
