"""A gate's findings as other tools read them: JUnit, SARIF, OpenMetrics, Markdown, GitHub."""
