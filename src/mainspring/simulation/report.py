"""A simulation as one self-contained HTML file: what ran when, at which interval, and why. Light and dark.

All text of a scenario is escaped; the page contains no script.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from html import escape
from itertools import pairwise

from mainspring.domain.duration import format_duration
from mainspring.domain.instant import rfc3339
from mainspring.simulation.checks import CheckResult, pauses_of
from mainspring.simulation.trace import PlayedRun, Trace, TracedDecision

WIDTH, LEFT, ROW = 1_000, 190, 26
NAMES = 12  # above the first row, for the names of phases
CHART = 120
ROWS_MAX = 60  # endpoints drawn individually; a large group is described in words
DECISIONS_MAX = 2_000
QUIET = frozenset({"schedule.updated", "backoff.applied", "rules.changed", "run.timeout", "hint.written"})

STYLE = """
:root{--bg:#fbfaf7;--ink:#23211d;--dim:#7a756b;--line:#e4dfd4;--card:#fff;--ok:#2f7d4f;--bad:#b3382c;--ai:#2d62b3;
--shot:#b5651d;--sleep:#e9e4f3;--sleepline:#8a78b8;--band:#f3efe6}
@media (prefers-color-scheme:dark){
:root{--bg:#161513;--ink:#ece8df;--dim:#9b958a;--line:#34312c;--card:#1e1c19;
--ok:#6cc08b;--bad:#f08a7d;--ai:#84b1f5;--shot:#e6a566;--sleep:#2a2636;--sleepline:#a294cf;--band:#1b1a17}
}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1080px;margin:0 auto;padding:32px 24px 80px}
h1{font-size:28px;margin:0 0 4px}
h2{font-size:18px;margin:40px 0 8px}
p{margin:4px 0 12px;max-width:70ch}
.dim{color:var(--dim)}
.verdict{font-size:17px;font-weight:600}
.good{color:var(--ok)}
.bad{color:var(--bad)}
svg{width:100%;min-width:720px;height:auto;display:block}
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 16px;margin:10px 0;
overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13.5px}
td,th{text-align:left;padding:5px 10px 5px 0;vertical-align:top;
border-bottom:1px solid var(--line)}
th{color:var(--dim);font-weight:500}
td.why{min-width:28ch}
td.n{white-space:nowrap;font-variant-numeric:tabular-nums}
text{fill:var(--ink);font:11px system-ui,sans-serif}
.t{fill:var(--dim)}
.grid{stroke:var(--line)}
.band{fill:var(--band)}
.sleep{fill:var(--sleep);stroke:var(--sleepline);stroke-opacity:.35}
.b{fill:var(--ok)}
.a{fill:var(--ai)}
.o{fill:var(--shot)}
.f{fill:var(--bad)}
.curve{fill:none;stroke:var(--ai);stroke-width:1.6}
.step{fill:none;stroke:var(--shot);stroke-width:1.6}
.key span{display:inline-block;margin-right:18px}
.key i{display:inline-block;width:10px;height:10px;border-radius:5px;margin-right:6px}
details summary{cursor:pointer;color:var(--dim)}
"""


def report(trace: Trace, verdicts: Sequence[CheckResult]) -> str:
    scenario = trace.scenario
    failed = [each for each in verdicts if not each.ok]
    names = [name for entry in scenario.endpoints for name in scenario.names_of(entry)]
    shown = names[:ROWS_MAX]
    said = (
        f"{len(verdicts)} of {len(verdicts)} checks hold"
        if not failed
        else f"{len(failed)} of {len(verdicts)} checks fail"
    )
    parts = [
        f"<h1>{escape(scenario.name)}</h1>",
        f"<p>{escape(scenario.description)}</p>",
        f'<p class="verdict {"bad" if failed else "good"}">{said}</p>' if verdicts else "",
        f'<p class="dim">{scenario.minutes:g} simulated minutes, {len(names)} endpoints, {len(trace.runs)} runs, '
        f"seed {trace.seed}. The same seed gives the same report.</p>",
        "<h2>Runs over time</h2>",
        '<p class="key"><span><i style="background:var(--ok)"></i>by its own schedule</span>'
        '<span><i style="background:var(--ai)"></i>by an interval hint</span>'
        '<span><i style="background:var(--shot)"></i>by a one-shot hint</span>'
        '<span><i style="background:var(--bad)"></i>failed</span>'
        '<span><i style="background:var(--sleepline)"></i>asleep or paused</span></p>',
        f'<div class="card">{_timeline(trace, shown)}</div>',
    ]
    if len(names) > len(shown):
        parts.append(f'<p class="dim">{len(names) - len(shown)} further endpoints are not drawn.</p>')
    parts += [_curves(trace), _intervals(trace, shown), _checks(verdicts), _decisions(trace)]
    title = escape(scenario.name)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><style>{STYLE}</style></head>'
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )


def _timeline(trace: Trace, names: Sequence[str]) -> str:
    height = NAMES + ROW * len(names) + 30
    parts = [_bands(trace, height - 22), _axis(trace, height)]
    rows = {name: place for place, name in enumerate(names)}
    for name, place in rows.items():
        y = NAMES + place * ROW + ROW / 2
        parts.append(f'<text x="0" y="{y + 4:.1f}">{escape(_cut(name))}</text>')
        for begin, end in pauses_of(trace, name):
            x, to = _x(trace, trace.minute(begin)), _x(trace, min(trace.minute(end), trace.scenario.minutes))
            if to > x:
                parts.append(
                    f'<rect class="sleep" x="{x:.1f}" y="{y - 8:.1f}" width="{to - x:.1f}" height="16" rx="4"/>'
                )
    for run in trace.runs:
        if run.endpoint in rows and trace.minute(run.started_at) <= trace.scenario.minutes:
            y = NAMES + rows[run.endpoint] * ROW + ROW / 2
            x = _x(trace, trace.minute(run.started_at))
            about = escape(
                f"{run.endpoint}, minute {trace.minute(run.started_at):.2f}: {run.status}, {run.source}. {run.why}"
            )
            parts.append(
                f'<circle class="{_colour(run)}" cx="{x:.1f}" cy="{y:.1f}" r="3.4"><title>{about}</title></circle>'
            )
    return _svg(height, parts)


def _curves(trace: Trace) -> str:
    metrics = [key for key in (trace.scenario.curve or ({},))[0] if key not in ("from", "phase")]
    if not metrics:
        return ""
    charts = []
    for metric in metrics:
        points = [
            (minute / 2, float(value))
            for minute in range(int(trace.scenario.minutes * 2) + 1)
            if isinstance(value := trace.scenario.phase_at(minute / 2).get(metric), int | float)
        ]
        charts.append(_chart(trace, metric, points, "curve", lambda value: f"{value:g}"))
    return f'<h2>What the targets measured</h2><div class="card">{"".join(charts)}</div>'


def _intervals(trace: Trace, names: Sequence[str]) -> str:
    """The distance between an endpoint's runs over time, if it varied."""
    charts = []
    for name in names:
        runs = [run for run in trace.runs if run.endpoint == name]
        points = [
            (trace.minute(first.started_at), (second.started_at - first.started_at).total_seconds())
            for first, second in pairwise(runs)
        ]
        if len({round(gap) for _, gap in points}) > 1:
            charts.append(_chart(trace, name, points, "step", lambda value: format_duration(round(value) * 1000)))
    if not charts:
        return ""
    return f'<h2>Intervals over time</h2><div class="card">{"".join(charts)}</div>'


def _chart(trace: Trace, name: str, points: list[tuple[float, float]], style: str, words: object) -> str:
    assert callable(words)
    top = max((value for _, value in points), default=1) or 1
    height = CHART
    path = []
    for place, (minute, value) in enumerate(points):
        x, y = _x(trace, minute), 12 + (height - 40) * (1 - value / top)
        path.append(f"{'M' if place == 0 else 'L'}{x:.1f} {y:.1f}")
        if place + 1 < len(points):
            path.append(f"L{_x(trace, points[place + 1][0]):.1f} {y:.1f}")
    parts = [
        _bands(trace, height - 22),
        _axis(trace, height),
        f'<text x="0" y="{height / 2 - 6:.0f}">{escape(_cut(name))}</text>',
        f'<text class="t" x="0" y="{height / 2 + 10:.0f}">up to {escape(words(top))}</text>',
        f'<path class="{style}" d="{" ".join(path)}"/>',
    ]
    return _svg(height, parts)


def _checks(verdicts: Sequence[CheckResult]) -> str:
    if not verdicts:
        return ""
    rows = "".join(
        f'<tr><td class="n {"good" if each.ok else "bad"}">{"holds" if each.ok else "fails"}</td>'
        f"<td>{escape(each.check)}</td><td>{escape(each.detail)}</td></tr>"
        for each in sorted(verdicts, key=lambda each: each.ok)
    )
    return f'<h2>Checks</h2><div class="card"><table>{rows}</table></div>'


def _decisions(trace: Trace) -> str:
    told = [each for each in trace.decisions if each.type not in QUIET]
    rows = "".join(
        f'<tr><td class="n">{trace.minute(each.at):.2f}</td><td>{escape(each.endpoint)}</td>'
        f'<td>{escape(each.type)}</td><td>{escape(each.actor)}</td><td class="why">{escape(_why(each))}</td></tr>'
        for each in told[:DECISIONS_MAX]
    )
    head = "<tr><th>minute</th><th>endpoint</th><th>what</th><th>by</th><th>why</th></tr>"
    left = f'<p class="dim">and {len(told) - DECISIONS_MAX} more</p>' if len(told) > DECISIONS_MAX else ""
    return (
        f'<h2>Every decision</h2><div class="card"><table>{head}{rows}</table>{left}</div>'
        f'<p class="dim">The simulation began at {escape(rfc3339(trace.scenario.start))}.</p>'
    )


def _why(each: TracedDecision) -> str:
    said = [str(each.data[key]) for key in ("rule", "does", "reason", "fault", "until") if each.data.get(key)]
    return ": ".join(said) if said else ", ".join(f"{key} {value}" for key, value in each.data.items())


def _bands(trace: Trace, height: float) -> str:
    """Shades every second phase of the curve and names each."""
    parts = []
    edges = [entry.get("from", 0) for entry in trace.scenario.curve]
    for place, entry in enumerate(trace.scenario.curve):
        begin, end = edges[place], edges[place + 1] if place + 1 < len(edges) else trace.scenario.minutes
        if isinstance(begin, int | float) and isinstance(end, int | float):
            x, to = _x(trace, begin), _x(trace, end)
            if place % 2:
                parts.append(f'<rect class="band" x="{x:.1f}" y="0" width="{to - x:.1f}" height="{height}"/>')
            phase = entry.get("phase")
            if phase:
                parts.append(f'<text class="t" x="{x + 4:.1f}" y="9">{escape(str(phase))}</text>')
    return "".join(parts)


def _axis(trace: Trace, height: float) -> str:
    step = next((step for step in (1, 5, 10, 15, 30, 60, 240, 1440) if trace.scenario.minutes / step <= 12), 10_080)
    parts = []
    minute = 0
    while minute <= trace.scenario.minutes:
        x = _x(trace, minute)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height - 20}"/>')
        label = format_duration(timedelta(minutes=minute) // timedelta(milliseconds=1)) if minute else "0"
        parts.append(f'<text class="t" x="{x:.1f}" y="{height - 6}" text-anchor="middle">{label}</text>')
        minute += step
    return "".join(parts)


def _svg(height: float, parts: Iterable[str]) -> str:
    return f'<svg viewBox="0 0 {WIDTH + 20} {height:g}" role="img">{"".join(parts)}</svg>'


def _x(trace: Trace, minute: float) -> float:
    return LEFT + (WIDTH - LEFT) * min(max(minute, 0), trace.scenario.minutes) / trace.scenario.minutes


def _cut(name: str) -> str:
    return name if len(name) <= 28 else name[:27] + "…"


def _colour(run: PlayedRun) -> str:
    if run.status not in ("success", "running"):
        return "f"
    return {"ai-interval": "a", "ai-oneshot": "o"}.get(run.source, "b")
