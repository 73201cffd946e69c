# SPDX-License-Identifier: Apache-2.0

"""The tiers files that the guide shows are sound, each step of a recipe."""

import pathlib
import re
import tempfile
import textwrap

import ddt
import testtools
import yaml

from cinder_tiers.domain.validation import fallback as fallback_rules
from cinder_tiers.files.tiers import reader

GUIDE = pathlib.Path(__file__).resolve().parents[3] / 'doc/source/admin'
_EXAMPLE = re.compile(r'\.\. code-block:: yaml\n\n((?:   .*\n|\n)+)')


def examples(page, *, after=''):
    """Whole tiers files in a page, in its order.

    :param after: text before which they do not count.
    """
    return [one for one in blocks(page, after) if one.startswith('version: 1')]


def blocks(page, after=''):
    """All blocks of YAML in a page, as `examples`."""
    text = (GUIDE / page).read_text('utf-8').partition(after or '=')[2]
    return list(map(textwrap.dedent, _EXAMPLE.findall(text)))


def with_tiers(text, changed):
    """A tiers file with the tiers of a block in place of its own."""
    value = yaml.safe_load(text)
    value['tiers'] |= yaml.safe_load(changed)['tiers']
    return yaml.safe_dump(value, sort_keys=False)


@ddt.ddt
class DocumentedTestCase(testtools.TestCase):
    def test_the_steps_of_the_take_over(self):
        (first,) = examples('take-over.rst')
        changes = [
            one for one in blocks('take-over.rst') if one.startswith('tiers:')
        ]
        steps = [
            reader.read_text(one, file='guide')
            for one in (
                first,
                *(with_tiers(first, change) for change in changes),
            )
        ]
        self.assertEqual(
            [
                (('image-tier',), ['general']),
                (('image-tier',), ['general', 'gold']),
                (('image-tier',), ['general', 'database']),
            ],
            [
                (one.follow_image_types, [tier.name for tier in one.ours])
                for one in steps
            ],
        )
        # Blank volumes have a tier to go to at each of them.
        self.assertEqual(
            [False] * 3, list(map(fallback_rules.has_open_default, steps))
        )

    def test_the_fallback_of_each_zone(self):
        (found,) = examples('catalog.rst', after='.. _fallback:')
        self.assertEqual(
            ['general-north', 'general-south'],
            [
                tier.name
                for tier in reader.read_text(found, file='guide').tiers
                if tier.fallback
            ],
        )

    def test_the_base_and_its_region(self):
        page = (GUIDE / 'gitops.rst').read_text('utf-8')
        base, region = list(map(textwrap.dedent, _EXAMPLE.findall(page)))[:2]
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, 'base.yaml').write_text(base)
            path = pathlib.Path(folder, 'north.yaml')
            path.write_text(region)
            database = reader.read_file(str(path)).tier('database')
        self.assertEqual(
            (None, 64, 3),
            (
                database.overflow,
                database.rbd.pg_num,
                database.rbd.protection.size,
            ),
        )
