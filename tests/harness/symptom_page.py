"""The table of the checks of a symptom in the reference of the doctor, written from the code."""

from tracekit.app.symptoms.checklist import CHECKS
from tracekit.app.symptoms.checks import QUESTIONS

_BEGIN = "<!-- written by tests/harness/symptom_page.py -->"
_END = "<!-- end of checks -->"


def symptom_page(text: str) -> str:
    """Return the page with its table of checks, and the order of each symptom, as in the code."""
    lines = ["| check | it looks at | found if |", "|---|---|---|"]
    for name, question in QUESTIONS.items():
        lines.append(f"| `{name}` | {question.evidence} | {question.condition} |")
    lines += ["", "| symptom | checks |", "|---|---|"]
    for symptom, names in CHECKS.items():
        order = ", ".join(names)
        lines.append(f"| `{symptom}` | {order} |")
    head, _, rest = text.partition(_BEGIN)
    _, _, tail = rest.partition(_END)
    table = "\n".join(lines)
    return f"{head}{_BEGIN}\n\n{table}\n\n{_END}{tail}"
