# SPDX-License-Identifier: Apache-2.0

"""Problems of a tiers file in the formats that CI systems read.

The formats are compiler-like lines, SARIF 2.1.0 (OASIS, 2020), and the part of
JUnit XML that Jenkins and GitLab read. Each finding has the id of its rule.
Pure. Text of a hostile file is escaped in each format. Must not know how a
file is checked, nor where the text goes.
"""

import collections.abc
import dataclasses
import json
import re
import urllib.parse
import xml.etree.ElementTree

from cinder_tiers.cli.render import cells
from cinder_tiers.cli.render import tiers as render_tiers
from cinder_tiers.domain import errors
from cinder_tiers.domain.validation import rules

_TOOL = 'cinder-tiers'
_PLACEHOLDER = re.compile(r'\{(?=[0-9]+\})')


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReportedProblem:
    """A problem, and whether it is an error or only a warning."""

    problem: errors.Problem
    is_error: bool = True

    @property
    def level(self) -> str:
        """`error` or `warning`."""
        return 'error' if self.is_error else 'warning'

    @property
    def place(self) -> tuple[str, int]:
        """File and line; line 1 for the whole file, as readers need a line."""
        file, _, line = self.problem.where.rpartition(':')
        if file and line.isdecimal() and line.isascii():
            return file, int(line)
        return self.problem.where, 1

    @property
    def text(self) -> str:
        """The found value, the expected one and the remedy, in one line."""
        _, found, expected, remedy = render_tiers.problem_row(self.problem)
        return f'{found}; expected {expected}; {remedy}'


Findings = collections.abc.Sequence[ReportedProblem]


def lint(findings: Findings) -> str:
    """Return a `file:line: error: text [rule-id]` line for each finding."""
    return ''.join(
        f'{_first(cells.printable(one.place[0]))}:{one.place[1]}: '
        f'{one.level}: {one.text} [{one.problem.rule}]\n'
        for one in findings
    )


def _first(path: str) -> str:
    """Return a path that can start a line.

    GitHub runs a line that begins with `::name::` as a workflow command.

    >>> _first('::stop-commands::x'), _first('a/b')
    ('./::stop-commands::x', 'a/b')
    """
    return f'./{path}' if path.lstrip().startswith(':') else path


def sarif(findings: Findings) -> str:
    """Return a SARIF 2.1.0 log with one run, which lists all rules."""
    order = {ident: number for number, ident in enumerate(rules.ALL)}
    log = {
        '$schema': 'https://json.schemastore.org/sarif-2.1.0.json',
        'version': '2.1.0',
        'runs': [
            {
                'tool': {
                    'driver': {
                        'name': _TOOL,
                        'rules': [
                            {'id': ident, 'shortDescription': {'text': text}}
                            for ident, text in rules.ALL.items()
                        ],
                    }
                },
                'results': [
                    {
                        'ruleId': one.problem.rule,
                        'ruleIndex': order[one.problem.rule],
                        'level': one.level,
                        'message': {'text': _sarif_text(one.text)},
                        'locations': [_location(*one.place)],
                    }
                    for one in findings
                ],
            }
        ],
    }
    return json.dumps(log, indent=2) + '\n'


def _sarif_text(text: str) -> str:
    """Return a SARIF message without links and placeholders.

    Even in plain text, [text](target) is a link, and {0} a placeholder for an
    argument, of which there is none (SARIF 2.1.0, 3.11.5 and 3.11.6).

    >>> _sarif_text('a](b) {0} {k: 4}')
    'a] (b) { 0} {k: 4}'
    """
    return _PLACEHOLDER.sub('{ ', text.replace('](', '] ('))


def _location(file: str, line: int) -> dict[str, object]:
    path = urllib.parse.quote(file, errors='surrogatepass')
    return {
        'physicalLocation': {
            'artifactLocation': {
                'uri': f'file://{path}' if file.startswith('/') else path
            },
            'region': {'startLine': line},
        }
    }


def junit(findings: Findings, *, file: str) -> str:
    """Return a test suite in which each error is a failed test.

    A warning is a passed test with output. Without errors there is one more
    passed test, because a suite without tests looks as if it did not run.

    :param file: path of the checked file.
    """
    problems = [one for one in findings if one.is_error]
    suite = xml.etree.ElementTree.Element(
        'testsuite',
        name='openstack tier validate',
        tests=str(len(findings) + (not problems)),
        failures=str(len(problems)),
        errors='0',
        skipped='0',
    )
    if not problems:
        _case(suite, name='valid', file=file, line=1)
    for one in findings:
        path, line = one.place
        case = _case(
            suite,
            name=f'{one.problem.rule}: {one.text}',
            file=path,
            line=line,
        )
        if one.is_error:
            failure = xml.etree.ElementTree.SubElement(
                case, 'failure', type=one.problem.rule, message=one.text
            )
            failure.text = lint([one])
        else:
            output = xml.etree.ElementTree.SubElement(case, 'system-out')
            output.text = lint([one])
    suites = xml.etree.ElementTree.Element('testsuites')
    suites.append(suite)
    xml.etree.ElementTree.indent(suites)
    text = xml.etree.ElementTree.tostring(
        suites, encoding='us-ascii', xml_declaration=True
    )
    return text.decode('ascii') + '\n'


def _case(
    suite: xml.etree.ElementTree.Element, *, name: str, file: str, line: int
) -> xml.etree.ElementTree.Element:
    path = cells.printable(file)
    return xml.etree.ElementTree.SubElement(
        suite,
        'testcase',
        classname=path,
        name=name,
        file=path,
        line=str(line),
    )
