"""Prints what Harlequin shows: it is started by its own command, a query is put into its editor and run with its key.

Arguments: the query, then those of the command. Instead of a terminal it draws on a screen in memory, as Textual does
for tests; what it connects to, asks and shows is its own.
"""

import asyncio
import html
import re
import sys
import time

from harlequin.app import Harlequin
from harlequin.cli import harlequin

query, *arguments = sys.argv[1:]
LIMIT_SECONDS = 100
COLUMNS, LINES = 160, 60


async def until(pilot, what, is_so):
    deadline = time.monotonic() + LIMIT_SECONDS
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(f"Harlequin did not {what} within {LIMIT_SECONDS} s:\n{characters(pilot.app)}")
        await pilot.pause(0.05)


def characters(app):
    """A screenshot is SVG with a text for each piece of a line."""
    lines = {}
    for y, piece in re.findall(r'<text [^>]*?y="([\d.]+)"[^>]*>([^<]*)</text>', app.export_screenshot()):
        lines[float(y)] = lines.get(float(y), "") + html.unescape(piece).rstrip("\n")
    return "\n".join(lines[y].replace("\N{NO-BREAK SPACE}", " ") for y in sorted(lines))


async def ask(app):
    async with app.run_test(size=(COLUMNS, LINES)) as pilot:
        await until(pilot, "connect", lambda: app.connection is not None and app.editor is not None)
        app.editor.focus()
        app.editor.text = query
        await pilot.press("ctrl+j")
        await until(pilot, "answer", lambda: "Records)" in characters(app))
        print(characters(app))
        await app.action_quit()


Harlequin.run = lambda app: asyncio.run(ask(app))
sys.argv = ["harlequin", *arguments]
harlequin()
