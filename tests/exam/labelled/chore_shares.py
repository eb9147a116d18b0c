"""How much of a trace is chores, by the labels of work."""

from labelled.facts import Facts, Size
from labelled.setup import MICROSECOND


def share_of_label(name: str, limit: float, *, of_busy: bool = False) -> Size:
    """Return the size of work of that name, launches included, as a share of the window.

    Args:
        name: The end of its label.
        limit: The share from which it matters.
        of_busy: Whether it is a share of the target's GPU time instead.
    """

    def size(facts: Facts) -> float:
        found = [one for one in facts.own if one.label.endswith(name)]
        time = sum(one.end - one.start for one in found)
        gaps = dict(facts.gaps_before(first=False) + facts.gaps_before(first=True))
        time += sum(gaps[one] for one in found if gaps.get(one, 1 << 40) <= 10 * MICROSECOND)
        return time / (facts.busy if of_busy else facts.length) / limit

    return size


def unfused(facts: Facts) -> float:
    """Say how much products around a softmax take of the target's GPU time."""
    names = [one.label.rpartition(":")[2] for one in facts.world.setup.pieces]
    count = names.count("Softmax") if "Matmul" in names else 0
    if count * facts.world.setup.steps < 8:
        return 0.0
    parts = (":Matmul", ":Softmax")
    ran = sum(one.end - one.start for one in facts.own if one.label.endswith(parts))
    return ran / facts.busy / 0.05


def avoidable(facts: Facts) -> float:
    """Say how much the greater of copies and sorts takes of the target's GPU time."""
    return max(
        sum(one.end - one.start for one in facts.own if one.label.endswith(name))
        / (facts.busy or 1)
        / 0.10
        for name in (":Copy", ":Sort")
    )


def metadata(facts: Facts) -> float | None:
    """Say how much arrays of metadata take that are made for every other kernel."""
    count = sum(one.label.endswith("Arange") for one in facts.world.setup.pieces)
    longest = max(
        (one.work for one in facts.world.setup.pieces if one.label.endswith("Arange")), default=0
    )
    if count < 6 or longest > 7_500:
        return 0.0 if count < 3 else None
    return share_of_label("Arange", 0.01)(facts)
