# SPDX-License-Identifier: Apache-2.0

"""Other values in a tiers file, whose comments and order stay."""

import pathlib
import subprocess
import tempfile

import ddt
import hypothesis
from hypothesis import strategies as st
import testtools

from cinder_tiers.files.tiers import edit
from cinder_tiers.files.tiers import includes
from cinder_tiers.files.tiers import reader
from cinder_tiers.files.tiers import writer
from cinder_tiers.files.tiers import yaml_document
import tests

TOP = pathlib.Path(__file__).resolve().parents[4]
LIMIT = ('tiers', 'a', 'qos', 'front_end', 'read_iops_sec')


def value_of(text):
    return yaml_document.read(text, file='').value


@ddt.ddt
class EditTestCase(testtools.TestCase):
    @ddt.data(
        (
            'tiers:\n  a:  # fast\n    qos:\n      front_end:\n'
            "        read_iops_sec: '500'  # as sold\n",
            'tiers:\n  a:  # fast\n    qos:\n      front_end:\n'
            "        read_iops_sec: '100'  # as sold\n",
        ),
        (
            "tiers: {a: {qos: {front_end: {read_iops_sec: '5', x: 1}}}}\n",
            "tiers: {a: {qos: {front_end: {read_iops_sec: '100', x: 1}}}}\n",
        ),
        (
            'tiers:\n  a:\n    tags: [x]  # why\n\n# next\n  b:\n    x: 1\n',
            'tiers:\n  a:\n    tags: [x]  # why\n'
            "    qos:\n      front_end:\n        read_iops_sec: '100'\n"
            '\n# next\n  b:\n    x: 1\n',
        ),
        (
            'tiers:\n  a:\n    qos: {}\n',
            "tiers:\n  a:\n    qos: {front_end: {read_iops_sec: '100'}}\n",
        ),
        (
            "tiers:\n  a:\n    qos: {front_end: {b: '1',\n      }}\n",
            "tiers:\n  a:\n    qos: {front_end: {b: '1', "
            "read_iops_sec: '100',\n      }}\n",
        ),
        (
            'tiers:\r\n  a:\r\n    tags: [x]',
            'tiers:\r\n  a:\r\n    tags: [x]\r\n    qos:\r\n'
            "      front_end:\r\n        read_iops_sec: '100'\r\n",
        ),
        (
            'tiers:\n  a:\n    access:\n    - one\n    - two # it\n  b: {}\n',
            'tiers:\n  a:\n    access:\n    - one\n    - two # it\n'
            "    qos:\n      front_end:\n        read_iops_sec: '100'\n"
            '  b: {}\n',
        ),
    )
    @ddt.unpack
    def test_only_the_value_is_other(self, before, after):
        self.assertEqual(after, edit.with_values(before, {LIMIT: '100'}))

    @ddt.data(
        'tiers:\n  a:\n    qos:\n',
        'tiers:\n  a:\n    qos: {front_end: {read_iops_sec: {x: 1}}}\n',
        'tiers:\n  a:\n    qos:\n      front_end:\n'
        '        read_iops_sec: |\n          5\n',
        '- tiers\n',
        'tiers: &x\n  a: {}\n',
    )
    def test_what_cannot_be_changed_in_place_is_refused(self, text):
        self.assertRaises(edit.EditError, edit.with_values, text, {LIMIT: '1'})

    def test_each_tier_of_the_sample_keeps_all_other_lines(self):
        text = (TOP / 'etc/cinder-tiers/tiers.yaml').read_text('utf-8')
        tiers = value_of(text)['tiers']
        self.assertGreater(len(tiers), 1)
        for name in tiers:
            changed = edit.with_values(
                text,
                {
                    ('tiers', name, 'qos', 'front_end', 'x'): '7',
                    ('tiers', name, 'rbd', 'osd_options', 'y'): 0.5,
                },
            )
            found = [
                line
                for line in edit.difference(text, changed, 'x')
                if line.startswith('-') and not line.startswith('---')
            ]
            # A mapping in one line is another line then.
            self.assertLessEqual(len(found), 2)
            self.assertEqual(
                text.count('#'), changed.count('#'), 'a comment is lost'
            )

    @tests.examples(120)
    @hypothesis.given(
        values=st.dictionaries(
            st.sampled_from(['a', 'b', '#c', 'x: y', 'é\u2028\x85', '-']),
            st.recursive(
                st.one_of(
                    st.integers(-5, 5),
                    st.booleans(),
                    st.text(max_size=6),
                    st.lists(st.text(max_size=3), max_size=2),
                ),
                lambda below: st.dictionaries(
                    st.sampled_from(['a', 'b', 'qos', '#']),
                    below,
                    max_size=3,
                ),
                max_leaves=8,
            ),
            min_size=1,
            max_size=3,
        ),
        value=st.one_of(st.text(max_size=8), st.booleans(), st.integers()),
        place=st.lists(
            st.sampled_from(['a', 'b', 'qos', '#', "it's"]),
            min_size=1,
            max_size=4,
        ),
    )
    def test_it_says_what_was_wanted_or_is_refused(self, values, value, place):
        text = writer.lay_out(values, comments={}, project_names={})
        wanted = value_of(text)
        try:
            changed = edit.with_values(text, {tuple(place): value})
        except edit.EditError:
            return
        holder = wanted
        for key in place[:-1]:
            holder = holder.setdefault(key, {})
        holder[place[-1]] = value
        self.assertEqual(wanted, value_of(changed))


class PatchTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(
            self.enterContext(tempfile.TemporaryDirectory())
        )
        self.path = self.folder / 'tiers.yaml'
        self.own = self.folder / 'tiers.d' / 'a.yaml'

    def whole(self):
        return includes.read(str(self.path))

    def write(self, text, included=None):
        self.path.write_text(text, 'utf-8')
        if included:
            self.own.parent.mkdir()
            self.own.write_text(included, 'utf-8')

    def apply(self, patch):
        subprocess.run(
            ['git', 'apply', '-'],
            cwd=self.folder,
            input=patch,
            text=True,
            check=True,
            # Not that of this tree.
            env={'GIT_CEILING_DIRECTORIES': str(self.folder.parent)},
        )
        return reader.read(str(self.path)).catalog

    def test_git_applies_it(self):
        self.write(
            'version: 1\n# all\ntiers:\n  a:  # it\n    fallback: true\n'
            '    backend: b0\n    # sold as slow\n    qos:\n      front_end:\n'
            "        read_iops_sec: '500'"
        )
        patch = edit.patch(str(self.path), self.whole(), {LIMIT: '100'})
        self.assertIn('\\ No newline at end of file', patch)
        tier = self.apply(patch).tier('a')
        self.assertEqual('100', tier.qos.front_end['read_iops_sec'])
        self.assertIn('# sold as slow', self.path.read_text())

    def test_a_value_is_changed_in_the_file_that_has_it(self):
        self.write(
            'version: 1\ninclude: [tiers.d/a.yaml]\ntiers:\n  b:\n'
            '    fallback: true\n    backend: b0\n',
            'tiers:\n  a:  # mine\n    tags: [a]\n    backend: b1\n    qos:\n'
            "      front_end:\n        read_iops_sec: '500'\n",
        )
        before = self.path.read_text()
        patch = edit.patch(
            str(self.path),
            self.whole(),
            {LIMIT: '100', (*LIMIT[:-1], 'write_iops_sec'): '5'},
        )
        tier = self.apply(patch).tier('a')
        self.assertEqual(
            {'read_iops_sec': '100', 'write_iops_sec': '5'},
            dict(tier.qos.front_end),
        )
        self.assertEqual(before, self.path.read_text())

    def test_what_no_patch_can_name_is_refused(self):
        self.path = self.folder / 'my tiers\n.yaml'
        self.write('version: 1\ntiers: {a: {fallback: true, backend: b}}\n')
        error = self.assertRaises(
            edit.EditError,
            edit.patch,
            str(self.path),
            self.whole(),
            {LIMIT: '1'},
        )
        self.assertIn('cannot be named in a patch', str(error))
        self.assertRaises(
            edit.EditError,
            edit.patch,
            '/dev/null',
            self.whole(),
            {LIMIT: '1'},
        )
