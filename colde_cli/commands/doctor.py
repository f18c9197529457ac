"""`colde doctor`: check what is installed, what runs where, and that a model works."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from colde_cli.commands.options import DebugOption, DeviceOption, ModelOption, format_option
from colde_cli.settings import DEFAULT_MODEL
from colde_cli.views.output import Format, choose_format, prepare_output

_PACKAGES = (
    "colde onnxruntime-gpu onnxruntime tokenizers numpy pypdf pypdfium2 selectolax typer rich torch transformers"
    " optimum rapidocr"
).split()
_SENTENCE = "A short sentence shows whether the model runs."


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report; `fine` is False if something needs attention."""

    topic: str
    result: str
    fine: bool = True


def doctor(
    model: ModelOption = DEFAULT_MODEL,
    device: DeviceOption = "auto",
    format: Annotated[Format | None, format_option("table|json", "table")] = None,
    debug: DebugOption = False,
) -> None:
    """Check the installation: versions, devices, paths and a test of a model.

    Exits with status 1 if something is wrong.
    """
    chosen = choose_format(format, None)
    findings = [*_versions(), *_devices(), *_paths(), _configuration(), *_self_test(model, device)]
    if chosen is Format.JSON:
        typer.echo(json.dumps({"schema": "colde.doctor/1", "findings": list(map(asdict, findings))}, indent=2))
    else:
        _print(findings)
    if not all(item.fine for item in findings):
        raise typer.Exit(1)


def _versions() -> list[Finding]:
    import platform
    from importlib.metadata import PackageNotFoundError, version

    findings = [Finding("python", f"{platform.python_version()} on {platform.platform()}")]
    for name in _PACKAGES:
        try:
            findings.append(Finding(name, version(name)))
        except PackageNotFoundError:
            if name in {"torch", "transformers", "optimum"}:
                findings.append(Finding(name, "not installed (only needed to train: pip install 'colde[train]')"))
            if name == "rapidocr":
                findings.append(Finding(name, "not installed (only needed to read scans: pip install 'colde[ocr]')"))
    if {"onnxruntime", "onnxruntime-gpu"} <= {item.topic for item in findings}:
        advice = "pip uninstall onnxruntime, then pip install --force-reinstall onnxruntime-gpu"
        findings.append(Finding("onnxruntime", f"installed beside onnxruntime-gpu, which it hides; {advice}", False))
    return findings


def _devices() -> list[Finding]:
    from colde_cli import settings
    from colde_cli.encoder.runtime import probe_cuda

    cuda = probe_cuda()
    state = f"usable, {cuda.devices} device(s)" if cuda.usable else f"not usable: {cuda.problem}"
    return [Finding("cpu", f"{settings.usable_cores()} usable cores"), Finding("cuda", state)]


def _paths() -> list[Finding]:
    from colde_cli import settings

    models = settings.known_models()
    listed = ", ".join(f"{name} ({path})" for name, path in models.items()) or "none"
    return [Finding("cache", str(settings.cache_dir())), Finding("models", listed, bool(models))]


def _configuration() -> Finding:
    """Which colde.toml holds here, and what it says."""
    from colde_cli.commands import configuration
    from colde_cli.errors import ColdeError

    try:
        file = configuration.find(Path.cwd())
        if file is None:
            return Finding("configuration", f"none ({configuration.NAME} here or in a folder above)")
        return Finding("configuration", f"{file}: {json.dumps(configuration.load(file), default=str)}")
    except (ColdeError, OSError) as error:
        return Finding("configuration", str(error), False)


def _self_test(model: str, device: str) -> list[Finding]:
    """Encode a sentence twice: vectors must be finite, of unit length, and the same both times."""
    import numpy as np

    from colde_cli.documents.document import Part, assemble
    from colde_cli.encoder.loading import open_encoder
    from colde_cli.errors import ColdeError

    document = assemble("", "self-test", [Part("", _SENTENCE)])
    try:
        encoder = open_encoder(model, device=device)
        first, second = encoder.encode(document), encoder.encode(document)
    except ColdeError as error:
        return [Finding("self-test", str(error), False)]
    vectors = first.centred_unit_vectors
    sound = bool(np.isfinite(vectors).all()) and bool((abs(np.linalg.norm(vectors, axis=1) - 1) < 1e-3).all())
    same = first.chunk_vectors.tobytes() == second.chunk_vectors.tobytes()
    where = f"{encoder.info.name}, {encoder.info.precision} on {encoder.info.device}. {encoder.info.reason}"
    verdict = "works" if sound and same else "gives wrong vectors: export or fetch the model again"
    return [Finding("runs", where), Finding("self-test", verdict, sound and same)]


def _print(findings: list[Finding]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from colde_cli.views.escaping import visible

    table = Table.grid(padding=(0, 2))
    for item in findings:
        style = "" if item.fine else "bold red"
        table.add_row(Text(item.topic, "bold"), Text(visible(item.result), style))
    prepare_output()
    Console().print(table)
