"""What people look at: pictures of groups, and the report of a release as a page, as Markdown and
as JSON.
"""
