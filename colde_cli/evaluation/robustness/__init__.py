"""Measure how scores change when documents are elongated, shuffled or cut short."""

from colde_cli.evaluation.robustness.protocols import PROTOCOLS, RobustnessOptions, robustness
from colde_cli.evaluation.robustness.report import RobustnessReport

__all__ = ["PROTOCOLS", "RobustnessOptions", "RobustnessReport", "robustness"]
