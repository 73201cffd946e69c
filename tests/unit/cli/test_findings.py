# SPDX-License-Identifier: Apache-2.0

"""`openstack tier validate` for CI systems: lint, SARIF and JUnit."""

import json
import os
import pathlib
import re
import tempfile
import urllib.parse
import xml.etree.ElementTree

import ddt
import fixtures
import testtools

from cinder_tiers.cli.render import findings
from cinder_tiers.domain import errors
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.validation import rules
from tests.unit.cli import shell
from tests.unit.cli import test_commands

GUIDE = pathlib.Path(__file__).resolve().parents[3] / 'doc/source/admin'
#: Breaks a rule of most kinds.
BROKEN = """version: 1
clusters: {ceph: {}}
tiers:
  a:
    tags: [x, X, "y,z"]
    color: red
    rbd: {cluster: cpeh, pool: p, pg_num: 3, replicated: {size: 1}}
  b:
    tags: [x]
    priority: 010
    priority: 11
    overflow: b
    extra_specs: {"tiers:name": b, volume_backend_name: x}
  c:
    fallback: maybe
    rbd: {cluster: ceph, pool: q, replicated: {}}
    qos: {front_end: {total_iops_sec: 1, read_iops_sec: 1}}
"""
WARNED = """version: 1
follow_image_types: [image-tier]
fallback: none
tiers:
  a: {tags: [a], backend: x, qos: {front_end: {totl_iops_sec: 1}}}
"""
HOSTILE = (
    'version: 1\ntiers:\n'
    '  "<b>&\\"\\e[2J\\u202e\\0]]>](http://x)\\n::": {tags: ["],a"]}\n'
)


@ddt.ddt
class FindingsTestCase(testtools.TestCase):
    def file(self, text, suffix='.yaml'):
        handle, path = tempfile.mkstemp(suffix=suffix)
        self.addCleanup(os.unlink, path)
        with os.fdopen(handle, 'w', encoding='utf-8') as stream:
            stream.write(text)
        return path

    def validate(self, path, form):
        ran = shell.openstack('-q', 'tier', 'validate', path, '-f', form)
        self.assertEqual('', ran.stderr)
        return ran

    @ddt.data('lint', 'sarif', 'junit', 'value')
    def test_no_order_to_a_ci_system_gets_into_its_log(self, form):
        """Azure, TeamCity and GitHub look for them in what a job prints."""
        orders = ('##vso[a b=c]d', '##teamcity[a', '##[add-mask]a', '{0}')
        path = self.file(
            ''.join(
                f'{json.dumps(f"{number} {order}")}: 1\n'
                for number, order in enumerate(orders)
            )
        )
        ran = self.validate(path, form)
        self.assertEqual(1, ran.status)
        for order in orders[:3]:
            self.assertNotIn(order, ran.stdout)
        self.assertIn('vso[a b=c]d', ran.stdout)
        if form == 'sarif':
            self.assertNotIn('{0}', ran.stdout)

    def test_a_file_whose_name_is_an_order(self):
        folder = self.useFixture(fixtures.TempDir()).path
        name = '::add-mask::a.yaml'
        pathlib.Path(folder, name).write_text('color: red\n')
        base = pathlib.Path(folder, 'tiers.yaml')
        base.write_text(f'include: ["{name}"]\nversion: 1\n')
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(folder)
        lines = self.validate('tiers.yaml', 'lint').stdout.splitlines()
        self.assertTrue(any('a.yaml' in line for line in lines), lines)
        for line in lines:
            self.assertNotIn(name, line)

    def test_a_line_for_each_finding(self):
        path = self.file(BROKEN)
        ran = self.validate(path, 'lint')
        self.assertEqual(1, ran.status)
        found = [
            re.fullmatch(
                f'{re.escape(path)}:(\\d+): error: (.+) \\[(.+)\\]', line
            ).groups()
            for line in ran.stdout.splitlines()
        ]
        self.assertThat(
            {rule for _, _, rule in found},
            testtools.matchers.Equals(
                {
                    rules.CLUSTER,
                    rules.EXTRA_SPEC,
                    rules.FALLBACK,
                    rules.KEY,
                    rules.MISSING_KEY,
                    rules.NUMBER,
                    rules.OVERFLOW,
                    rules.PRIORITY,
                    rules.PROTECTION,
                    rules.SHARED_TAG,
                    rules.TAG,
                    rules.UNKNOWN_KEY,
                    rules.VALUE,
                    'qos-spec',
                }
            ),
        )
        self.assertIn(
            (
                '7',
                "unknown cluster 'cpeh'; expected one of those under "
                "clusters: ceph; did you mean 'ceph'? fix it or declare the "
                'cluster',
                'unknown-cluster',
            ),
            found,
        )

    @ddt.data(
        ('a: [1', rules.YAML),
        ('- &a x', rules.YAML),
        ('a: 1\nb: ' + 'x' * 2000, rules.YAML),
        ('\udc80', rules.UNREADABLE),
        ('? [a]\n: 1', rules.KEY),
    )
    @ddt.unpack
    def test_what_cannot_be_read_has_a_rule(self, text, rule):
        path = self.file('')
        pathlib.Path(path).write_bytes(text.encode('utf-8', 'surrogateescape'))
        ran = self.validate(path, 'lint')
        self.assertEqual(1, ran.status)
        self.assertIn(f' [{rule}]', ran.stdout.splitlines()[0])

    def test_a_warning_changes_no_status(self):
        path = self.file(WARNED)
        ran = self.validate(path, 'lint')
        self.assertEqual(0, ran.status)
        first, second, third = ran.stdout.splitlines()
        self.assertRegex(first, f'^{path}:5: warning: .*\\[{rules.QOS_LIMIT}')
        self.assertRegex(second, f'^{path}:5: warning: .*\\[{rules.FRONT_END}')
        self.assertRegex(
            third, f'^{path}:2: warning: .*\\[{rules.NO_FALLBACK}'
        )
        (run,) = json.loads(self.validate(path, 'sarif').stdout)['runs']
        self.assertEqual(
            ['warning'] * 3, [one['level'] for one in run['results']]
        )
        suite = self.suite(self.validate(path, 'junit'))
        self.assertEqual(('4', '0'), (suite.get('tests'), failures(suite)))
        self.assertEqual(3, len(suite.findall('testcase/system-out')))

    def suite(self, ran):
        (suite,) = xml.etree.ElementTree.fromstring(ran.stdout)
        return suite

    def test_sarif_names_place_and_rule(self):
        path = self.file(BROKEN, suffix=' ä.yaml')
        ran = self.validate(path, 'sarif')
        self.assertEqual(1, ran.status)
        log = json.loads(ran.stdout)
        self.assertEqual('2.1.0', log['version'])
        (run,) = log['runs']
        known = [one['id'] for one in run['tool']['driver']['rules']]
        self.assertEqual(list(rules.ALL), known)
        lines = self.validate(path, 'lint').stdout.splitlines()
        self.assertEqual(len(lines), len(run['results']))
        for one, line in zip(run['results'], lines, strict=True):
            self.assertEqual(one['ruleId'], known[one['ruleIndex']])
            (location,) = one['locations']
            place = location['physicalLocation']
            uri = place['artifactLocation']['uri']
            self.assertTrue(uri.startswith('file:///') and uri.isascii(), uri)
            self.assertEqual(
                line,
                f'{urllib.parse.unquote(uri.removeprefix("file://"))}:'
                f'{place["region"]["startLine"]}: {one["level"]}: '
                f'{one["message"]["text"]} [{one["ruleId"]}]',
            )

    def test_the_place_in_a_repository_is_relative(self):
        found = findings.ReportedProblem(
            problem=errors.Problem(
                where='a b:c/t.yaml:7',
                found='x',
                expected='y',
                remedy='z',
                rule=rules.VALUE,
            )
        )
        (run,) = json.loads(findings.sarif([found]))['runs']
        self.assertEqual(
            {
                'artifactLocation': {'uri': 'a%20b%3Ac/t.yaml'},
                'region': {'startLine': 7},
            },
            run['results'][0]['locations'][0]['physicalLocation'],
        )

    def test_junit_fails_a_test_for_each_problem(self):
        path = self.file(BROKEN)
        ran = self.validate(path, 'junit')
        self.assertEqual(1, ran.status)
        suite = self.suite(ran)
        lines = self.validate(path, 'lint').stdout.splitlines()
        self.assertEqual(
            (str(len(lines)), str(len(lines))),
            (suite.get('tests'), failures(suite)),
        )
        self.assertEqual(
            lines, [one.text.strip() for one in suite.iter('failure')]
        )
        for case in suite.iter('testcase'):
            self.assertEqual(path, case.get('file'))
            self.assertIn(
                f'{path}:{case.get("line")}: ', case.find('failure').text
            )

    def test_junit_has_a_test_for_a_valid_file(self):
        ran = self.validate(test_commands.SAMPLE, 'junit')
        self.assertEqual(0, ran.status)
        suite = self.suite(ran)
        self.assertEqual(('1', '0'), (suite.get('tests'), failures(suite)))
        (case,) = suite
        self.assertEqual([], list(case))

    @ddt.data('lint', 'sarif', 'junit')
    def test_a_hostile_name_stays_text(self, form):
        path = self.file(HOSTILE)
        ran = self.validate(path, form)
        self.assertEqual(1, ran.status)
        self.assertTrue(
            all(line.isprintable() for line in ran.stdout.splitlines()),
            ran.stdout,
        )
        self.assertIn('x1b[2J', ran.stdout)
        if form == 'sarif':
            self.assertNotIn('](', ran.stdout)
        if form == 'junit':
            self.assertNotIn('<b>', ran.stdout)
            texts = [one.text for one in self.suite(ran).iter('failure')]
            self.assertIn('<b>&', str(texts))

    @ddt.data('sarif', 'junit')
    def test_a_report_has_no_columns(self, form):
        ran = shell.openstack(
            'tier',
            'validate',
            test_commands.SAMPLE,
            '-f',
            form,
            '-c',
            'Where',
        )
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        self.assertIn(f'-f {form} has no columns', ran.stderr)

    def test_thousands_of_problems_are_cut(self):
        ran = shell.openstack(
            'tier', 'validate', self.file('a: 1\n' * 5000), '-f', 'lint'
        )
        self.assertEqual((1, 1000), (ran.status, len(ran.stdout.splitlines())))
        self.assertIn('problems were found; the first 1000 are', ran.stderr)

    def test_every_rule_is_in_the_guide(self):
        page = (GUIDE / 'gitops.rst').read_text('utf-8')
        of_kinds = set(map(rules.of_kind, actions.Kind))
        self.assertEqual(
            [],
            [
                rule
                for rule in rules.ALL
                if rule not in of_kinds and f'``{rule}``' not in page
            ],
        )


def failures(suite):
    """How many tests the suite says have failed."""
    return suite.get('failures')
