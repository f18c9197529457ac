"""What a model's scores do when documents are elongated, shuffled or cut short."""

from colde_cli.evaluation.robustness.report import RobustnessReport
from colde_cli.evaluation.robustness.robustness import PROTOCOLS, Options, robustness

__all__ = ["PROTOCOLS", "Options", "RobustnessReport", "robustness"]
