"""An OIDC identity provider: its discovery document, its keys, and validation of ID tokens.

Only signatures with a public key are accepted: a token signed with our own client secret, or not signed, is refused.
"""

import asyncio
import json
from typing import Any

import httpx2
import jwt

from mainspring.domain.access.account import EMAIL_LENGTH_MAX, IdentityClaims
from mainspring.domain.errors import Misconfigured, NotAuthenticated

ALGORITHMS = ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "EdDSA")
LEEWAY_S = 60  # tolerance between the provider's clock and ours
TIMEOUT_S = 10
ANSWER_MAX = 200_000  # bytes; discovery documents and key sets have some thousands
SUBJECT_MAX = 255  # OpenID Connect Core, section 2
NAME_MAX, NAME_READ_MAX = 100, 1_000
LOOPBACK = ("http://127.0.0.1", "http://localhost", "http://[::1]")

Document = dict[str, Any]  # untrusted JSON


class OidcIssuer:
    def __init__(self, issuer: str, client_id: str, client_secret: str) -> None:
        if not issuer.startswith(("https://", *LOOPBACK)):
            raise Misconfigured(
                f"MAINSPRING_OIDC_ISSUER={issuer!r} is not https; only https protects the issuer's "
                "responses: write an https URL",
                setting="MAINSPRING_OIDC_ISSUER",
            )
        if not client_id:
            raise Misconfigured(
                "MAINSPRING_OIDC_ISSUER is set without a client ID; set MAINSPRING_OIDC_CLIENT_ID too",
                setting="MAINSPRING_OIDC_CLIENT_ID",
            )
        self._issuer = issuer
        self._client_id = client_id
        self._client_secret = client_secret
        self._discovered: Document = {}

    async def authorization_url(self, state: str, nonce: str, challenge: str, redirect_uri: str) -> str:
        where = str((await self._discovery())["authorization_endpoint"])
        query = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": redirect_uri,
            "scope": "openid email profile",
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        return str(httpx2.URL(where).copy_merge_params(query))

    async def redeem(self, code: str, verifier: str, nonce: str, redirect_uri: str) -> IdentityClaims:
        known = await self._discovery()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "client_id": self._client_id,
            "client_secret": self._client_secret,
            "code_verifier": verifier,
        }
        answer = await self._ask("POST", str(known["token_endpoint"]), form)
        keys = await self._ask("GET", str(known["jwks_uri"]))
        claims = self._verified(str(answer.get("id_token", "")), keys)
        if claims.get("nonce") != nonce:
            raise _refused("its token belongs to another login")
        return IdentityClaims(
            self._issuer,
            _text(claims, "sub", SUBJECT_MAX, required=True),
            _text(claims, "email", EMAIL_LENGTH_MAX),
            claims.get("email_verified") is True,
            _text(claims, "name", NAME_READ_MAX)[:NAME_MAX],
        )

    def _verified(self, token: str, keys: Document) -> Document:
        try:
            key_id = jwt.get_unverified_header(token).get("kid")
            known = jwt.PyJWKSet.from_dict(keys).keys
            key = next((each for each in known if each.key_id == key_id), known[0] if len(known) == 1 else None)
            if key is None:
                raise _refused("its token is signed with a key that it does not publish")
            claims: Document = jwt.decode(
                token,
                key.key,
                algorithms=ALGORITHMS,
                audience=self._client_id,
                issuer=self._issuer,
                leeway=LEEWAY_S,
                options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )
        except (jwt.PyJWTError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as fault:
            raise _refused(f"its token does not verify ({type(fault).__name__})") from None
        self._check_party(claims)
        return claims

    def _check_party(self, claims: Document) -> None:
        """A token for several audiences names the one it was issued for (`azp`), which must be us."""
        audiences = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
        if claims.get("azp", None if len(audiences) > 1 else self._client_id) != self._client_id:
            raise _refused("its token was issued for another client")

    async def _discovery(self) -> Document:
        if not self._discovered:
            found = await self._ask("GET", f"{self._issuer.rstrip('/')}/.well-known/openid-configuration")
            if found.get("issuer") != self._issuer:
                raise _refused("its discovery document names an issuer other than MAINSPRING_OIDC_ISSUER")
            if not {"authorization_endpoint", "token_endpoint", "jwks_uri"} <= found.keys():
                raise _refused("its discovery document lacks an endpoint")
            self._discovered = found
        return self._discovered

    async def _ask(self, method: str, url: str, form: dict[str, str] | None = None) -> Document:
        try:
            async with (
                asyncio.timeout(TIMEOUT_S),
                httpx2.AsyncClient(timeout=TIMEOUT_S, trust_env=False) as client,
                client.stream(method, url, data=form) as answer,
            ):
                body = b""
                async for piece in answer.aiter_bytes():
                    body += piece
                    if len(body) > ANSWER_MAX:
                        raise _refused(f"it answered with more than {ANSWER_MAX:,} bytes")
            said = json.loads(body)
        except (httpx2.HTTPError, ValueError, TimeoutError, RecursionError) as fault:
            raise _refused(f"its response is invalid ({type(fault).__name__})") from None
        if answer.status_code != 200 or not isinstance(said, dict):
            raise _refused(f"it answered with {answer.status_code}")
        return said


def _text(claims: Document, name: str, most: int, *, required: bool = False) -> str:
    value = claims.get(name, "")
    if not isinstance(value, str) or len(value) > most or (required and not value):
        raise _refused(f"its token has a {name} that is not text of at most {most} characters")
    return value


def _refused(why: str) -> NotAuthenticated:
    return NotAuthenticated(f"sign-in failed at the identity provider: {why}; try again, or sign in with a password")
