"""Views of an evaluation that no run of the command shows by itself."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from colde_cli.evaluation.result import Evaluation, Figure, RobustnessResult, SetResult, SystemFacts, SystemResult
from colde_cli.views import evaluation_view as text
from colde_cli.views.evaluation_view import evaluation_html, evaluation_table
from colde_cli.views.json import result_json

ATTACKED = RobustnessResult(
    {"protocols": [{"name": "shuffle", "auc": 0.12345678}]},
    (("Section shuffle: pairs", ("attack", "AUC"), (("clean", "0.900"), ("<once>", "0.890"))),),
    ("A note on the attack.",),
)


def evaluation() -> Evaluation:
    """Two systems without intervals, thresholds or curves; one was attacked."""
    results = tuple(SystemResult(name, {"auc": Figure(value)}) for name, value in (("one", 0.8124), ("two", 0.8119)))
    field = SetResult("field", 9, 4, 6, {"": 5}, 0, None, None, results, (), (), {"one": ATTACKED})
    return Evaluation("test", (SystemFacts("one", "model"), SystemFacts("two", "control")), (field,), None, 0, 0)


def test_robustness_is_in_every_view_but_csv() -> None:
    found = evaluation()
    table = evaluation_table(found, to_file=True)
    assert "one: Section shuffle: pairs" in table
    assert re.search(r"^<once> +0\.890$", table, re.MULTILINE)
    assert "· one: A note on the attack." in table
    page = evaluation_html(found)
    assert '<th scope="row">&lt;once&gt;</th><td>0.890</td>' in page
    value = json.loads(result_json(found))
    assert value["fields"][0]["robustness"] == {"one": {"protocols": [{"name": "shuffle", "auc": 0.123457}]}}


def test_systems_equal_to_three_decimals_are_both_best() -> None:
    page = evaluation_html(evaluation())
    assert page.count('class="best"') == 2
    assert evaluation().sets[0].best("auc") == {"one", "two"}


def test_numbers_as_people_read_them() -> None:
    assert text.signed(-0.0123) == "−0.012"
    assert text.ends(Figure(0.5, 0.4, 0.6)) == "0.40–0.60"
    assert text.ends(Figure(0.5)) == ""
    assert [text.chance(p) for p in (None, 0.0004, 0.031)] == ["n/a", "<0.001", "0.031"]
    assert text.threshold_origin(SystemResult("x", {}, -0.04, "validation")) == "−0.040 (validation)"


def test_a_ninth_system_is_dashed_and_names_are_escaped() -> None:
    assert text.series_class(0) == "s0"
    assert text.series_class(8) == "s0 dashed"
    page = evaluation_html(replace(evaluation(), sets=(replace(evaluation().sets[0], name="<&>"),)))
    assert '<h2 id="f0">&lt;&amp;&gt;</h2>' in page
    assert "<&>" not in page
