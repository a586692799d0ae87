"""Scripts as names, bodies, headers, errors and reasons are text: nothing runs, also without the page's policy."""

from playwright.sync_api import Browser, Dialog, expect

from tests.browser.site import Json, Shop, Site

PAYLOADS = [
    template.replace("RUN", "window.hacked=1")
    for template in (
        "<script>RUN</script>",
        "<img src=x onerror=RUN>",
        "<svg onload=RUN>",
        '"><script>RUN</script>',
        "'><img src=x onerror=RUN>",
        "<iframe srcdoc='<script>parent.hacked=1</script>'></iframe>",
        "<details open ontoggle=RUN>",
        "<body onload=RUN>",
        "<math><mi xlink:href='javascript:RUN'>",
        "<style>@import 'javascript:RUN'</style>",
        "{{constructor.constructor('RUN')()}}",
        "${RUN}",
        "</script><script>RUN</script>",
        "<input autofocus onfocus=RUN>",
        "<a href='javascript:RUN' id=x>x</a><script>x.click()</script>",
        "<template><script>RUN</script></template>",
        "<object data='javascript:RUN'>",
        "<video><source onerror=RUN>",
        "<marquee onstart=RUN>",
        "&lt;script&gt;RUN&lt;/script&gt;",
    )
]


def test_nothing_that_a_stranger_wrote_runs(browser: Browser, site_and_cookies: tuple[Site, list[Json]]) -> None:
    site, cookies = site_and_cookies
    Shop.evil = "".join(PAYLOADS)
    pages = ["/", "/endpoints", "/runs", "/events", "/jobs"]
    for place, payload in enumerate(PAYLOADS):
        made = site.add(f"{payload} {place}"[:100], "/evil", description=payload, job="evil")["id"]
        site.call("POST", f"/endpoints/{made}/pause", {"reason": payload})
        if place < 4:
            pages.append(f"/endpoints/{made}")
            site.call("POST", f"/endpoints/{made}/resume")
            site.call("PUT", f"/endpoints/{made}/hints/interval", {"interval_ms": "30m", "reason": payload})
    run = site.run(made)["id"]
    context = browser.new_context(base_url=site.url, bypass_csp=True)
    context.add_cookies(cookies)
    page = context.new_page()
    dialogs: list[str] = []

    def hear(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", hear)
    ran = []
    for path in [*pages, f"/runs/{run}"]:
        page.goto(path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        if page.evaluate("window.hacked") is not None:
            ran.append(path)
    context.close()

    assert ran == []
    assert dialogs == []
