"""A gate's findings as other tools read them: JUnit, SARIF, OpenMetrics, Markdown, GitHub."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["text"])
