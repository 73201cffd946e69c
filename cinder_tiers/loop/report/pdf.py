# SPDX-License-Identifier: Apache-2.0

"""A page of the report as PDF, printed by a Chromium without a window.

The paper is the page with its style for print, so there is one report.  The
program reaches nothing: every connection goes to a proxy that there is not.
What it writes beside the PDF is in a folder that is removed.
"""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

from cinder_tiers.domain import errors

#: The variable that names the program.
VARIABLE = 'CINDER_TIERS_CHROMIUM'
#: Its names in distributions, in the order in which they are tried.
PROGRAMS = (
    'chromium',
    'chromium-browser',
    'google-chrome-stable',
    'google-chrome',
)
#: A page of 2 MB takes some seconds.
MOST_SECONDS = 120.0
_SWITCHES = (
    '--headless=new',
    # No proxy listens on the port "discard" of this host.  Not even the host
    # itself is reached past it, which it is unless "<-loopback>" is given.
    '--proxy-server=127.0.0.1:9',
    '--proxy-bypass-list=<-loopback>',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-default-apps',
    '--disable-extensions',
    '--disable-sync',
    '--no-default-browser-check',
    '--no-first-run',
    '--disable-breakpad',
    # In a container, /dev/shm is often too small.
    '--disable-dev-shm-usage',
    # Of what it logs, only what ended it.
    '--log-level=3',
    # It would name the temporary file on each sheet.
    '--no-pdf-header-footer',
    '--generate-pdf-document-outline',
)
#: What was killed ends within that.
_END_SECONDS = 10
_MOST_LINES = 3


class PrintingError(errors.LinesError):
    """A page could not be printed; the message says why and what to do."""


def find_program() -> str:
    """The path of the Chromium that prints.

    That is what VARIABLE names, a path or a name on $PATH, else the first of
    PROGRAMS that is there.

    :raises PrintingError: there is none
    """
    named = os.environ.get(VARIABLE)
    for name in (named,) if named else PROGRAMS:
        found = shutil.which(name)
        if found:
            return os.path.abspath(found)
    if named:
        raise PrintingError(
            f'there is no program {named!r} to print a PDF with: expected a '
            f'Chromium in {VARIABLE}'
        )
    raise PrintingError(
        f'there is no Chromium to print a PDF with, none of '
        f'{", ".join(PROGRAMS)} is in $PATH: install the package chromium, '
        f'name one in {VARIABLE}, or write an HTML file'
    )


def print_page(
    page: str, program: str, *, most_seconds: float = MOST_SECONDS
) -> bytes:
    """Return the PDF of a page.

    :param page: self-contained HTML
    :param program: program found by ``find_program``
    :param most_seconds: timeout after which the program and its children are
        killed
    :raises PrintingError: the program cannot be started, ended without a PDF,
        or took too long
    """
    try:
        content, said = _printed(page, program, most_seconds)
    except OSError as error:
        raise PrintingError(
            f'{program} cannot print a PDF: {error}'
        ) from error
    # What was killed while it wrote has no end.
    if not (content.startswith(b'%PDF-') and b'%%EOF' in content[-32:]):
        raise PrintingError(
            f'{program} printed no PDF',
            *(f'  {line}' for line in said[-_MOST_LINES:]),
        )
    return content


def _printed(
    page: str, program: str, most_seconds: float
) -> tuple[bytes, list[str]]:
    """(what it left as PDF, empty if nothing, the lines that it said)."""
    with tempfile.TemporaryDirectory(prefix='cinder-tiers-report-') as name:
        folder = pathlib.Path(name)
        source, target = folder / 'report.html', folder / 'report.pdf'
        source.write_text(page, encoding='utf-8')
        said = _run(
            (
                program,
                *_SWITCHES,
                # Chromium refuses to run as root with its sandbox.  For any
                # other user it stays on: where a system forbids it, there is
                # no PDF rather than one that was made without.
                *(['--no-sandbox'] if os.geteuid() == 0 else []),
                f'--user-data-dir={folder / "profile"}',
                f'--print-to-pdf={target}',
                source.as_uri(),
            ),
            folder,
            most_seconds,
        )
        # The status is 0 even if nothing was printed.
        return target.read_bytes() if target.exists() else b'', said


def _run(
    words: tuple[str, ...], folder: pathlib.Path, most_seconds: float
) -> list[str]:
    """The lines that a program and its children said until all ended."""
    with subprocess.Popen(  # noqa: S603 - a path, and no shell
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        # Caches and settings go into the folder; no display, no session bus,
        # no proxy or switches of the user.
        env={
            'PATH': os.environ.get('PATH', os.defpath),
            'LANG': 'C.UTF-8',
            'HOME': str(folder),
            'TMPDIR': str(folder),
        },
        start_new_session=True,
    ) as process:
        try:
            # Until the last child has closed it, so that none writes into the
            # folder while it is removed.
            said, _nothing = process.communicate(timeout=most_seconds)
        except subprocess.TimeoutExpired as error:
            raise PrintingError(
                f'{words[0]} printed no PDF in {most_seconds:g} s and was '
                'ended'
            ) from error
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.communicate(timeout=_END_SECONDS)
    return said.decode(errors='replace').splitlines()
