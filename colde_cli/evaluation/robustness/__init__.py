"""What a model's scores do when documents are elongated, shuffled or cut short."""

from colde_cli.evaluation.robustness.protocols import PROTOCOLS, Options, robustness
from colde_cli.evaluation.robustness.report import RobustnessReport

__all__ = ["PROTOCOLS", "Options", "RobustnessReport", "robustness"]
