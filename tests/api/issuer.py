"""A small OIDC issuer on loopback: discovery, keys, and a token endpoint that checks the code, the client and PKCE.

Whoever comes to its login page is let in at once as `claims`; a test that wants a bad issuer changes what it says.
"""

import json
import threading
import time
from base64 import urlsafe_b64encode
from contextlib import suppress
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_urlsafe
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT_ID = "mainspring"
CLIENT_SECRET = "the client's secret"
KEY = rsa.generate_private_key(65_537, 2_048)
OTHER_KEY = rsa.generate_private_key(65_537, 2_048)


class LittleIssuer:
    def __init__(self) -> None:
        self.claims: dict[str, Any] = {"sub": "42", "email": "ann@example.com", "email_verified": True, "name": "Ann"}
        self.overrides: dict[str, Any] = {}  # what its tokens say otherwise
        self.raw: dict[str, str] = {}  # what is answered at a path instead of what belongs there
        self.algorithm = "RS256"
        self.signing_key: Any = KEY
        self.codes: dict[str, dict[str, str]] = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = urlsplit(self.path).path
                if path == "/authorize":
                    self.send_response(302)
                    self.send_header("Location", outer.log_in(self.path))
                    self.end_headers()
                    return
                self._answer(outer.get(path), outer.raw.get(path))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                self._answer(outer.token({name: values[0] for name, values in parse_qs(body).items()}))

            def _answer(self, said: dict[str, Any] | None, raw: str | None = None) -> None:
                self.send_response(400 if said is None else 200)
                self.end_headers()
                with suppress(ConnectionError):  # who has read enough hangs up
                    self.wfile.write((raw or json.dumps(said or {"error": "invalid_grant"})).encode())

            def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def get(self, path: str) -> dict[str, Any] | None:
        if path == "/.well-known/openid-configuration":
            return {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/keys",
            }
        if path == "/keys":
            key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key()))
            return {"keys": [{**key, "kid": "k1", "use": "sig", "alg": "RS256"}]}
        return None

    def log_in(self, authorization_url: str) -> str:
        """What a browser does there: it comes back with a code; the address it is sent to."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(authorization_url).query).items()}
        assert query["client_id"] == CLIENT_ID
        assert query["code_challenge_method"] == "S256"
        code = token_urlsafe()
        self.codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def token(self, form: dict[str, str]) -> dict[str, Any] | None:
        asked = self.codes.pop(form.get("code", ""), None)
        if asked is None or form["client_secret"] != CLIENT_SECRET or form["redirect_uri"] != asked["redirect_uri"]:
            return None
        challenge = urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
        if challenge != asked["code_challenge"]:
            return None
        now = int(time.time())
        said = {
            "iss": self.url, "aud": CLIENT_ID, "iat": now, "exp": now + 300, "nonce": asked["nonce"], **self.claims,
            **self.overrides,
        }  # fmt: skip
        token = jwt.encode(said, self.signing_key, algorithm=self.algorithm, headers={"kid": "k1"})
        return {"access_token": "x", "token_type": "Bearer", "id_token": token}
