# SPDX-License-Identifier: Apache-2.0

"""Tiers files that include others."""

import copy
import os
import pathlib
import tempfile

import ddt
from hypothesis import given
from hypothesis import strategies
import testtools
import yaml

from cinder_tiers.domain import errors
from cinder_tiers.domain.validation import rules
from cinder_tiers.files.tiers import includes
from cinder_tiers.files.tiers import reader
from cinder_tiers.files.tiers import yaml_document

BASE = """version: 1
follow_image_types: [image-tier]
clusters:
  ceph: {images_pool: images}
tiers:
  database:
    tags: [database, db]
    priority: 20
    overflow: general
    rbd:
      cluster: ceph
      pool: tier-database
      device_class: ssd
      replicated: {size: 3}
  general:
    fallback: true
    rbd: {cluster: ceph, pool: tier-general, replicated: {size: 3}}
  archive:
    tags: [archive]
    rbd: {cluster: ceph, pool: cold, erasure_coded: {k: 4, m: 2}}
"""
NORTH = """include: [base.yaml]
clusters:
  ceph: {conf: /etc/ceph/north.conf}
tiers:
  archive: null
  database:
    tags: [oltp]
    overflow: null
    rbd: {pg_num: 64}
"""

KEYS = strategies.sampled_from('abc')
VALUES = strategies.recursive(
    strategies.sampled_from(('x', 'y', 7, True)),
    lambda below: (
        strategies.dictionaries(KEYS, below, max_size=3)
        | strategies.lists(below, max_size=2)
    ),
    max_leaves=6,
)
MAPPINGS = strategies.dictionaries(KEYS, VALUES, max_size=3)


def merged(below, above):
    """What two mappings mean together, said in another way."""
    result = copy.deepcopy(below)
    for key, value in above.items():
        old = result.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            result[key] = merged(old, value)
        else:
            result[key] = copy.deepcopy(value)
    return result


class IncludesTestCase(testtools.TestCase):
    """Has a folder for tiers files."""

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = pathlib.Path(os.path.realpath(folder.name))
        self.root = self.top / 'repo'
        self.root.mkdir()

    def write(self, **texts):
        """Writes files by their names without the suffix."""
        for name, text in texts.items():
            path = self.root / f'{name.replace("__", "/")}.yaml'
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, 'utf-8')

    def read(self, name='north', root=None):
        return reader.read(str(self.root / f'{name}.yaml'), include_root=root)

    def problems(self, name='north', root=None):
        """The problems of a file, one line each, without the folder."""
        try:
            self.read(name, root)
        except errors.ProblemsFound as error:
            self.rules = {one.rule for one in error.problems}
            return str(error).replace(f'{self.root}/', '').splitlines()
        return []


@ddt.ddt
class MergedTestCase(IncludesTestCase):
    def test_a_region_overrides_the_base(self):
        self.write(base=BASE, north=NORTH)
        catalog = self.read().catalog
        self.assertEqual(
            ['database', 'general'], [tier.name for tier in catalog.tiers]
        )
        database = catalog.tiers[0]
        self.assertEqual(
            (('oltp',), 20, None, 64, 'tier-database'),
            (
                database.tags,
                database.priority,
                database.overflow,
                database.rbd.pg_num,
                database.rbd.pool,
            ),
        )
        ceph = catalog.clusters['ceph']
        self.assertEqual(
            ('images', '/etc/ceph/north.conf'), (ceph.images_pool, ceph.conf)
        )

    def test_later_files_count_more_and_the_file_itself_most(self):
        self.write(
            one='version: 1\ntiers: {a: {description: one, backend: x}}\n',
            two='tiers: {a: {description: two, priority: 2}}\n',
            three='include: [one.yaml, two.yaml]\nfallback: none\n',
            four='include: [three.yaml]\ntiers: {a: {priority: 4}}\n',
        )
        (tier,) = self.read('four').catalog.tiers
        self.assertEqual(
            ('two', 4, 'x'), (tier.description, tier.priority, tier.backend)
        )

    def test_a_null_removes_what_a_file_beside_it_has(self):
        self.write(
            base=BASE,
            less='# fewer\ntiers: {archive: null}\n',
            empty='# nothing yet\n',
            north='include: [base.yaml, less.yaml, empty.yaml]\n',
        )
        self.assertEqual(
            ['database', 'general'],
            [tier.name for tier in self.read().catalog.tiers],
        )

    def test_names_are_of_the_file_that_has_them(self):
        self.write(
            base=BASE,
            env__prod='include: [../base.yaml, more/more.yaml]\n',
            north='include: [env/prod.yaml]\n',
        )
        (self.root / 'env/more').mkdir()
        (self.root / 'env/more/more.yaml').write_text(
            'tiers: {general: {description: more}}\n'
        )
        self.assertEqual(
            'more', self.read().catalog.tier('general').description
        )

    def test_the_text_alone_means_the_same(self):
        self.write(base=BASE, north=NORTH)
        found = self.read()
        self.assertEqual(
            found.catalog, reader.read_text(found.text, file='alone')
        )
        base = self.root / 'base.yaml'
        self.assertIn(f'# {base}:11\n      cluster: ceph\n', found.text)
        self.assertNotIn('include', found.text)

    def test_a_file_that_includes_none_keeps_its_text(self):
        self.write(base=f'# ours\n{BASE}')
        self.assertEqual(f'# ours\n{BASE}', self.read('base').text)

    @given(MAPPINGS, MAPPINGS, MAPPINGS)
    def test_what_is_merged_is_what_each_says(self, first, second, third):
        self.write(
            first=yaml.safe_dump(first),
            second=yaml.safe_dump(second),
            third=yaml.safe_dump(
                {**third, 'include': ['first.yaml', 'second.yaml']}
            ),
        )
        whole = includes.read(str(self.root / 'third.yaml'))
        self.assertEqual(
            merged(merged(first, second), third),
            whole.value,
        )
        self.assertEqual((), whole.problems)
        for path in whole.source.lines:
            value = whole.value
            for step in path:
                value = value[step]


@ddt.ddt
class PlacesTestCase(IncludesTestCase):
    """Each problem is told with the file and the line that it is from."""

    @ddt.data(
        (('size: 3}\n  general', 'size: 0}\n  general'), '', 'base.yaml:14'),
        ((), '    priority: high\n', 'north.yaml:10: tiers.database.pri'),
        ((), '    rbd_: {}\n', "north.yaml:10: unknown key 'rbd_'"),
        ((), '  other: {overflow: x}\n', "north.yaml:10: unknown tier 'x'"),
        (
            ('cluster: ceph\n', 'cluster: cpeh\n'),
            '',
            "base.yaml:11: unknown cluster 'cpeh'",
        ),
        ((), '    tags: [oltp, OLTP]\n', "north.yaml:10: key 'tags' is re"),
        (
            (),
            '  general: {rbd: {pool: null}}\n',
            "north.yaml:10: tiers.general.rbd has no 'pool'",
        ),
        (
            ('fallback: true', 'tags: ["a,b"]'),
            '',
            "base.yaml:16: tag 'a,b'",
        ),
    )
    @ddt.unpack
    def test_a_problem_has_its_own_place(self, changed, more, expected):
        self.write(
            base=BASE.replace(*changed) if changed else BASE,
            north=NORTH + more,
        )
        self.assertIn(expected, '\n'.join(self.problems()))

    def test_all_problems_are_told_in_the_order_of_the_files(self):
        self.write(
            base=BASE.replace('size: 3', 'size: 0'),
            north=f'{NORTH}    priority: x\n',
        )
        self.assertEqual(
            ['base.yaml:14', 'base.yaml:17', 'north.yaml:10'],
            [one.partition(': ')[0] for one in self.problems()],
        )

    def test_a_null_for_nothing_is_an_error(self):
        self.write(base=BASE, north=f'{NORTH}    quotas: null\n')
        self.assertEqual(
            [
                'north.yaml:10: tiers.database.quotas is null, but no '
                'earlier file has it; expected null only for a key of an '
                'included file, which it removes; fix the key, or remove '
                'it'
            ],
            self.problems(),
        )
        self.assertEqual({rules.INCLUDE}, self.rules)

    def test_a_relative_path_gives_relative_places(self):
        self.write(base='a: [', env__north='include: [../base.yaml]\n')
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.root)
        error = self.assertRaises(
            errors.ProblemsFound,
            reader.read_file,
            'env/north.yaml',
            include_root='.',
        )
        self.assertEqual('base.yaml:2', error.problems[0].where)


@ddt.ddt
class RefusedTestCase(IncludesTestCase):
    @ddt.data(
        ('[gone.yaml]', 'gone.yaml cannot be read: No such file or directory'),
        ('[.]', 'repo cannot be read: Is a directory'),
        ('[/etc/passwd]', "include of '/etc/passwd'"),
        ('[../secret.yaml]', "'../secret.yaml' is outside of "),
        ('[a/../../secret.yaml]', "'a/../../secret.yaml' is outside of "),
        ('[link.yaml]', "'link.yaml' is outside of "),
        ('[linked/secret.yaml]', "'linked/secret.yaml' is outside of "),
        ('[base.yaml, ./base.yaml]', "'./base.yaml' was included already at"),
        ('[north.yaml]', 'include loop: north.yaml -> north.yaml'),
        ('[round.yaml]', 'include loop: north.yaml -> round.yaml -> north'),
        ('base.yaml', 'include is not a list of files'),
        ('[]', 'include is not a list of files'),
        ('', 'include is not a list of files'),
        ('{a: b}', 'include is not a list of files'),
        ('[7]', 'include that is not text'),
        ('[[base.yaml]]', 'include that is not text'),
        ('["a\\0b"]', "include of 'a\\x00b'"),
        ('["a\\e[2J"]', "include of 'a\\x1b[2J'"),
        ('["\\u202e"]', "include of '\\u202e'"),
        ('[""]', "include of ''"),
        (f'[{"x" * 1000}]', f'{"x" * 1000} cannot be read: File name too '),
        ('[list.yaml]', 'an included file that is not a mapping'),
        ('[latin.yaml]', 'latin.yaml:1: bytes that are not UTF-8'),
        ('[loop.yaml]', 'loop.yaml cannot be read: Too many levels'),
        ('[newer.yaml]', 'another version than at'),
    )
    @ddt.unpack
    def test_what_is_no_good_include(self, text, expected):
        (self.top / 'secret.yaml').write_text('secret: hunter2\n')
        (self.root / 'link.yaml').symlink_to('../secret.yaml')
        (self.root / 'linked').symlink_to('..')
        (self.root / 'loop.yaml').symlink_to('loop.yaml')
        (self.root / 'latin.yaml').write_bytes(b'a: \xe4\n')
        self.write(
            base=BASE,
            list='- a\n',
            round='include: [north.yaml]\n',
            newer='version: 2\n',
            north=f'version: 1\ninclude: {text}\n',
        )
        found = '\n'.join(self.problems())
        self.assertIn(expected, found)
        self.assertNotIn('hunter2', found)
        self.assertLessEqual(
            self.rules, {rules.INCLUDE, rules.UNREADABLE, rules.MISSING_KEY}
        )

    def test_a_file_counts_once_whoever_includes_it(self):
        self.write(
            base=BASE,
            east='include: [base.yaml]\n',
            north='include: [base.yaml, east.yaml]\n',
        )
        (problem,) = self.problems()
        self.assertTrue(
            problem.startswith(
                "east.yaml:1: 'base.yaml' was included already at north.yaml:1"
            ),
            problem,
        )

    def test_a_folder_above_may_be_named_by_who_runs_it(self):
        self.write(base=BASE, env__north='include: [../base.yaml]\n')
        self.assertIn(' is outside of ', self.problems('env/north')[0])
        self.assertEqual([], self.problems('env/north', str(self.root)))
        (self.top / 'link').symlink_to('repo')
        self.assertEqual(
            [], self.problems('env/north', str(self.top / 'link'))
        )

    def test_a_link_to_a_tiers_file_is_that_file(self):
        self.write(base=BASE, north=NORTH)
        link = self.top / 'tiers.yaml'
        link.symlink_to('repo/north.yaml')
        self.assertEqual(2, len(reader.read_file(str(link)).tiers))

    def test_all_files_that_cannot_be_read_are_told(self):
        self.write(bad='a: [', north='include: [bad.yaml, gone.yaml]\n')
        found = self.problems()
        self.assertEqual(
            ['bad.yaml:2', 'north.yaml:1'],
            [one.partition(': ')[0] for one in found],
        )

    def test_the_files_are_limited_in_number(self):
        names = [f'f{number}' for number in range(includes.MAX_FILES)]
        self.write(**dict.fromkeys(names, ''))
        for count, expected in (
            (includes.MAX_FILES - 1, []),
            (includes.MAX_FILES, ['north.yaml:1: more than 64 files']),
        ):
            listed = ', '.join(f'{name}.yaml' for name in names[:count])
            self.write(north=f'include: [{listed}]\nversion: 1\ntiers: {{}}\n')
            self.assertEqual(
                expected, [one.partition(';')[0] for one in self.problems()]
            )

    def test_the_size_of_all_files_is_limited(self):
        comment = '# ' + 'x' * (yaml_document.MAX_SIZE_BYTES // 2) + '\n'
        self.write(
            one=comment,
            two=comment,
            three='a: 1\n',
            north='include: [one.yaml, two.yaml, three.yaml]\n',
        )
        self.assertEqual(
            [
                f'{name}.yaml: a file that is too big; expected at most '
                '2097152 bytes in all files together; check that this is the '
                'right file'
                for name in ('two', 'three')
            ],
            self.problems(),
        )

    def test_the_keys_of_all_files_are_limited(self):
        half = yaml_document.MAX_NODES // 2
        self.write(
            one='a: [' + '1,' * half + ']\n',
            two='b: [' + '1,' * half + ']\n',
            north='include: [one.yaml, two.yaml]\n',
        )
        (problem,) = self.problems()
        self.assertIn('two.yaml:1: more than 200000 keys and', problem)

    def test_a_text_alone_includes_nothing(self):
        self.write(base=BASE)
        error = self.assertRaises(
            errors.ProblemsFound,
            reader.read_text,
            f'include: [{self.root}/base.yaml]\nversion: 1\ntiers: {{}}\n',
            file='saved',
        )
        (problem,) = error.problems
        self.assertEqual('saved:1', problem.where)
        self.assertIn('not possible here', problem.found)
