"""Studio: a local web application that leads from a file to a verified release, in a browser.

The server has pages and a session only. All work on tables is done by functions of the library, in
one worker process. Only this folder imports starlette, uvicorn and jinja2.
"""
