"""The page of a one-time link if there is no web UI: it sets a password, or accepts an invitation.

The token is in the fragment of the link, which no server or log sees; the page's script sends it in the body.
"""

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse

router = APIRouter(include_in_schema=False)

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Mainspring: set a password</title>
<h1>Mainspring</h1>
<p id="offer"></p>
<p id="rule">Choose a password of at least 12 characters: a few words in a row are strong and easy to remember.</p>
<form id="setup">
  <p id="owner" hidden><label>E-mail address<br><input id="email" type="email" autocomplete="username"></label></p>
  <p><label>Password<br>
    <input id="password" type="password" minlength="12" required autocomplete="new-password"></label></p>
  <p><button>Set the password, accept and log in</button></p>
</form>
<p id="said" role="status"></p>
<noscript>This page needs JavaScript. Without it: <code>mainspring user add EMAIL --password-stdin</code></noscript>
<script src="/setup.js"></script>
</html>
"""
SCRIPT = """\
const token = new URLSearchParams(location.hash.slice(1)).get("token") || "";
const said = document.getElementById("said");
history.replaceState(null, "", "/setup");
if (!token) said.textContent = "This link has no token; open it exactly as it was printed.";
const send = async (path, request) => {
  const answer = await fetch("/api/v1/auth/" + path, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(request),
  });
  const body = await answer.json();
  if (!answer.ok) said.textContent = body.detail;
  return answer.ok ? body : null;
};
let link = null;
const look = async () => {
  link = await send("link", { token });
  if (!link) return;
  document.getElementById("owner").hidden = link.use !== "first_owner";
  document.getElementById("rule").hidden = link.needs_login;
  if (link.use === "invitation") {
    document.getElementById("offer").textContent = "You are invited to the tenant " + link.tenant_name + " as " +
      link.role + ", as " + link.email + "." + (link.needs_login ? " Enter the password of your account." : "");
  }
};
if (token) look();
document.getElementById("setup").addEventListener("submit", async (event) => {
  event.preventDefault();
  const password = document.getElementById("password").value;
  const email = document.getElementById("email").value;
  if (link && link.needs_login) {
    if (!await send("login", { email: link.email, password })) return;
    if (await send("accept", { token })) location.assign("/");
    return;
  }
  const request = { token, password };
  if (email) request.email = email;
  if (await send("setup", request)) location.assign("/");
});
"""


@router.get("/setup")
async def setup_page() -> HTMLResponse:
    return HTMLResponse(PAGE, headers={"Cache-Control": "no-store"})


@router.get("/setup.js")
async def setup_script() -> Response:
    return Response(SCRIPT, media_type="text/javascript", headers={"Cache-Control": "no-store"})
