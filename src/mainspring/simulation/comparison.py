"""A back-test as one self-contained HTML file: recorded calls, simulated calls, and differences."""

from collections.abc import Sequence
from datetime import datetime
from html import escape

from mainspring.domain.duration import format_duration
from mainspring.domain.instant import rfc3339
from mainspring.domain.rules.backtest import BackTest, Detection, Fired, ReplayedRun
from mainspring.simulation.report import LEFT, STYLE, WIDTH

LANE, ENDPOINTS_MAX, RUNS_MAX, ROWS_MAX = 18, 40, 3_000, 1_000
LANES = ("recorded", "present", "changed")


def comparison(tested: BackTest) -> str:
    present, changed = len(tested.present.runs), len(tested.changed.runs)
    recorded = sum(len(each) for each in tested.recorded.values())
    seen = sum(each.changed_s is not None for each in tested.detections)
    parts = [
        "<h1>Back-test</h1>",
        f'<p class="dim">{escape(rfc3339(tested.begin))} to {escape(rfc3339(tested.end))}. '
        "Between two recorded runs the last response holds.</p>",
        f'<p class="verdict">{recorded} calls were recorded; the current policy makes {present}, the changed one '
        f"{changed}: {abs(present - changed)} {'saved' if changed <= present else 'more'}. "
        f"It sees {seen} of {len(tested.detections)} recorded failures.</p>",
        *(f'<p class="bad">could not be evaluated: {escape(fault)}</p>' for fault in tested.changed.faults),
        '<h2>Calls over time</h2><p class="key"><span><i style="background:var(--ok)"></i>succeeded</span>'
        '<span><i style="background:var(--bad)"></i>failed</span></p>',
        *(_picture(tested, endpoint_id) for endpoint_id in list(tested.names)[:ENDPOINTS_MAX]),
        _failures(tested),
        _firings("Only by the current policy", tested, tested.only_present),
        _firings("Only by the changed policy", tested, tested.only_changed),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Back-test</title>'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><style>{STYLE}</style></head>'
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )


def _picture(tested: BackTest, endpoint_id: str) -> str:
    recorded = [(each.finished_at, each.ok) for each in tested.recorded.get(endpoint_id, ())]
    lanes = [recorded, _dots(tested.present.runs, endpoint_id), _dots(tested.changed.runs, endpoint_id)]
    height = LANE * len(lanes) + 8
    parts = []
    for place, (name, dots) in enumerate(zip(LANES, lanes, strict=True)):
        y = place * LANE + LANE / 2 + 4
        parts.append(f'<text class="t" x="0" y="{y + 4:.1f}">{name}, {len(dots)}</text>')
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts += [
            f'<circle class="{"b" if ok else "f"}" cx="{_x(tested, at):.1f}" cy="{y:.1f}" r="2.6"/>'
            for at, ok in dots[:RUNS_MAX]
        ]
    svg = f'<svg viewBox="0 0 {WIDTH + 20} {height:g}" role="img">{"".join(parts)}</svg>'
    return f'<div class="card"><b>{escape(tested.names[endpoint_id])}</b>{svg}</div>'


def _dots(runs: Sequence[ReplayedRun], endpoint_id: str) -> list[tuple[datetime, bool]]:
    return [(run.at, run.ok) for run in runs if run.endpoint_id == endpoint_id]


def _x(tested: BackTest, at: datetime) -> float:
    span = (tested.end - tested.begin).total_seconds() or 1.0
    return LEFT + (WIDTH - LEFT) * min(max((at - tested.begin).total_seconds() / span, 0.0), 1.0)


def _failures(tested: BackTest) -> str:
    if not tested.detections:
        return ""
    rows = "".join(
        f'<tr><td class="n">{escape(rfc3339(each.failed_at))}</td><td>{escape(tested.names[each.endpoint_id])}</td>'
        f'<td class="n">{_lasted(each)}</td><td class="n">{_after(each.present_s)}</td>'
        f'<td class="n">{_after(each.changed_s)}</td></tr>'
        for each in tested.detections[:ROWS_MAX]
    )
    head = "<tr><th>failed at</th><th>endpoint</th><th>lasted</th><th>seen by present</th><th>by changed</th></tr>"
    return f'<h2>Recorded failures</h2><div class="card"><table>{head}{rows}</table></div>'


def _lasted(each: Detection) -> str:
    if each.until is None:
        return "to the end"
    return format_duration(round((each.until - each.failed_at).total_seconds()) * 1000)


def _after(seconds: float | None) -> str:
    if seconds is None:
        return "not seen"
    return f"after {format_duration(round(seconds) * 1000)}" if seconds >= 1 else "at once"


def _firings(title: str, tested: BackTest, fired: Sequence[Fired]) -> str:
    if not fired:
        return ""
    rows = "".join(
        f'<tr><td class="n">{escape(rfc3339(each.at))}</td><td>{escape(tested.names[each.endpoint_id])}</td>'
        f"<td>{escape(each.rule)}</td><td>{escape(each.does)}</td></tr>"
        for each in fired[:ROWS_MAX]
    )
    head = "<tr><th>at</th><th>endpoint</th><th>rule</th><th>does</th></tr>"
    return f'<h2>{title}: {len(fired)}</h2><div class="card"><table>{head}{rows}</table></div>'
