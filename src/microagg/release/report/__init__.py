"""Report of a release as a page, as Markdown and as JSON, with its pictures."""
