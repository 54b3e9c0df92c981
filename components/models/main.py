"""The import of a model as a step: plain values in, a page for the Kubeflow UI out.

It belongs to no training run, so nothing is committed but the model itself.
"""

from pathlib import Path

from components.models.importing import import_model as bring_in
from components.models.records import ModelRecord
from components.settings import StorageConfig
from components.step import announcing_errors


def import_model(
    source: str, store: str, name: str, file: str, endpoint_url: str, page: str
) -> None:
    """Import the model and write what is known of it as Markdown. Any error is one line."""
    with announcing_errors("import_model", "none", 0, [page]):
        storage = StorageConfig(uri=store, endpoint_url=endpoint_url or None)
        record = bring_in(source, storage, name=name or None, file=file or None)
        Path(page).parent.mkdir(parents=True, exist_ok=True)
        Path(page).write_text(as_markdown(record), encoding="utf-8")


def as_markdown(record: ModelRecord) -> str:
    """What was stored, and the line for a configuration."""
    rows = {
        "source": record.source, "licence": record.licence or "unknown; look at the source",
        "architecture": f"{record.architecture}, {record.dtype}",
        "context": f"{record.max_length or '?'} tokens",
        "size": f"{record.bytes / 1e6:.0f} MB", "sha256": record.sha256,
    }  # fmt: skip
    table = "\n".join(f"| {key} | {value} |" for key, value in rows.items())
    use = f"```yaml\nbase: {record.base}\n```"
    return f"# {record.name}\n\n| | |\n|---|---|\n{table}\n\nIn a configuration:\n\n{use}\n"
