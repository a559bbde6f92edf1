"""``interlock diff``: what changed between two versions of machines, for people who review it and for CI."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from interlock.draw import svg
from interlock.draw.command import forms_of, say
from interlock.draw.diff import Difference, compared
from interlock.draw.diff_dot import MARK, diff_dot
from interlock.draw.diff_text import markdown, text
from interlock.draw.versions import plans_of
from interlock.spec.finding import Unusable
from interlock.spec.generated import write

SAME, DIFFERENT = 0, 1

FORMS = {"svg": ".svg", "dot": ".dot", "png": ".png", "pdf": ".pdf"}

DIFF = """\
Tells what changed between two versions of machines: a file, a folder, or either in a revision of git, as REV:path.
Only meaning counts: comments, layout and the order of states do not. Ends with 0 when nothing changed, 1 when
something did, and 2 when it could not compare.

  interlock diff main:machines machines                   one line a change
  interlock diff main:machines machines --markdown        for the comment of a pull request
  interlock diff main:machines machines --out review      review/NAME.diff.svg of each machine that changed
  interlock diff old.toml new.toml --out change.png       the drawing of one machine
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``interlock diff``."""
    parser.description = DIFF
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("old", metavar="OLD", help="file, folder, or REV:path")
    add("new", metavar="NEW", help="file, folder, or REV:path")
    add("--markdown", action="store_true", help="say it in Markdown")
    add(
        "--out",
        metavar="PATH",
        help=f"draw it: into a folder, or one machine into a file ({', '.join(FORMS.values())})",
    )
    add("--format", metavar="FORMS", help=f"of {', '.join(FORMS)}; what a folder gets (default: svg)")


def main(args: argparse.Namespace) -> int:
    """Compare two versions, and say and draw what changed."""
    if args.format is not None and (args.out is None or _form(args.out)):
        raise Unusable("--format says what a folder gets; name the folder with --out")
    try:
        differences = compared(plans_of(args.old), plans_of(args.new))
        say(*([markdown(differences, args.old, args.new)] if args.markdown else text(differences)))
        changed = [one for one in differences if one.changes]
        if args.out is not None:
            say(*_drawn(changed, args.out, forms_of(args.format or "svg", FORMS)))
    except OSError as wrong:
        raise Unusable(f"{wrong.filename or 'diff'}: {wrong.strerror}") from None
    return DIFFERENT if changed else SAME


def _drawn(changed: Sequence[Difference], out: str, forms: Sequence[str]) -> list[str]:
    form = _form(out)
    if form and len(changed) > 1:
        names = ", ".join(one.plan.name for one in changed)
        raise Unusable(f"{out}: is one file, and {names} changed; name a folder")
    if form:
        return [line for one in changed for line in _put(Path(out).parent, {Path(out).name: _picture(one, form)})]
    pictures = {f"{one.plan.name}.diff{FORMS[form]}": _picture(one, form) for one in changed for form in forms}
    return _put(Path(out), pictures)


def _form(out: str) -> str:
    """Return the form that the name of a file says, or nothing where it is no such name."""
    return next((form for form, suffix in FORMS.items() if out.endswith(suffix) and not Path(out).is_dir()), "")


def _picture(difference: Difference, form: str) -> str | bytes:
    drawing = diff_dot(difference)
    if form == "dot":
        return drawing
    return svg.svg(drawing) if form == "svg" else svg.render(drawing, form)


def _put(folder: Path, pictures: Mapping[str, str | bytes]) -> list[str]:
    dots = {name: one for name, one in pictures.items() if isinstance(one, str) and name.endswith(".dot")}
    drawn = {name: one for name, one in pictures.items() if isinstance(one, str) and name not in dots}
    changed = write(folder, dots, MARK) + write(folder, drawn, svg.MARK)
    for name, picture in pictures.items():
        if isinstance(picture, bytes):
            (folder / name).write_bytes(picture)
            changed.append(str(folder / name))
    return changed
