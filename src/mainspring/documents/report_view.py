"""A report as the JSON object that every door returns."""

from mainspring.documents.apply import Report


def report_shape(report: Report) -> dict[str, object]:
    return {
        "written": report.written,
        "sources": list(report.sources),
        "counts": report.counts,
        "steps": [
            {
                "act": step.act,
                "kind": step.kind,
                "name": step.name,
                "renamed_from": step.renamed_from,
                "fields": [
                    {"field": change.field, "before": change.before, "after": change.after} for change in step.fields
                ],
            }
            for step in report.steps
        ],
        "notes": list(report.notes),
    }
