# SPDX-License-Identifier: Apache-2.0
"""What is written is read back as it was, whatever its texts are."""

import dataclasses
import decimal

from hypothesis import assume
from hypothesis import given
from hypothesis import strategies
import testtools

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.domain.catalog import limits
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.validation import catalog as catalog_rules
from cinder_tiers.files.tiers import reader
from cinder_tiers.files.tiers import writer
import tests
from tests.unit.domain import catalogs as plain
from tests.unit.execute import test_plan_apply_always as always
from tests.unit.files import test_reader

#: Texts that mean something else to YAML, or to a terminal.
AWKWARD = (
    'yes',
    'null',
    '~',
    '1e3',
    '0x1f',
    '1_000',
    '007',
    '2001-01-01',
    '=',
    '<<',
    '- a',
    'a: b',
    'a #b',
    '#',
    '"',
    "'",
    '\\',
    '{',
    '}',
    '[',
    ',',
    '&a',
    '*a',
    '!a',
    '|',
    '>',
    '%',
    '@',
    '`',
    '? a',
    ' a ',
    '\n',
    'a\nb',
    'a\n\nb\n',
    '\t',
    '\x1b[2J',
    '\u202e',
    '\x85',
    '\u2028',
    '\ufeff',
    '\xa0',
    '\x00',
    'é',
    '日本',
    '\U0001f600',
)
ALL = strategies.characters(codec='utf-8')
TEXTS = strategies.one_of(
    strategies.sampled_from(AWKWARD), strategies.text(ALL, max_size=40)
)
NAMES = strategies.sampled_from(
    ('zz', 'on', 'null', '1e3', '007', '2001-01-01', 'access', 'tiers')
)
OPTIONS = strategies.one_of(
    strategies.booleans(),
    strategies.integers(),
    strategies.floats(allow_nan=False, allow_infinity=False),
    strategies.sampled_from(('4K', 'true', '1', '1.0', '1e3', 'é')),
)
REQUIREMENTS = strategies.none() | strategies.builds(
    catalogs.Requirements,
    object_store=strategies.none() | strategies.just('bluestore'),
    rotational=strategies.sampled_from((None, True)),
    fast_db=strategies.booleans(),
    io_scheduler=strategies.sampled_from(((), ('none',), ('bfq', 'kyber'))),
    alloc_size_bytes=strategies.none()
    | strategies.sampled_from(limits.ALLOC_SIZES),
    rocksdb_compression=strategies.none() | strategies.just('lz4'),
).filter(lambda one: one.declared)
EXPECTED = strategies.dictionaries(
    strategies.sampled_from(('randwrite-4k', '4k', '1', '0.5', 'null', 'no')),
    strategies.dictionaries(
        strategies.sampled_from((*expectations.NAMES, 'read_p99.9_ms_max')),
        strategies.sampled_from((1, 0.5, 1e-9, 0.1 + 0.2)),
        min_size=1,
    ),
    max_size=2,
)
PRICES = strategies.decimals(
    0, limits.PRICE.most, places=9, allow_nan=False
) | strategies.integers(0, limits.PRICE.most).map(decimal.Decimal)
COSTS = strategies.none() | strategies.builds(
    catalogs.TierCost,
    currency=TEXTS.filter(limits.CURRENCY.fits),
    per_gib_month=PRICES,
    per_1000_iops_month=strategies.none() | PRICES,
)
CACHES = strategies.sampled_from(
    (
        None,
        plain.cache(),
        plain.cache(
            mode='readonly',
            stale_reads=True,
            rbd=plain.rbd(
                pool='cache',
                device_class=None,
                pg_num=None,
                crush_root='flash',
                failure_domain='rack',
            ),
            settings={'cache_target_full_ratio': 0.5, 'hit_set_count': 0},
        ),
    )
)


@strategies.composite
def written_catalogs(draw):
    """A sound catalog with texts that are hard to write."""
    catalog = draw(always.sound_catalogs())
    names = draw(strategies.lists(NAMES, unique=True, max_size=3))
    tiers = [*catalog.tiers]
    description = draw(TEXTS)
    tiers[0] = dataclasses.replace(
        tiers[0],
        description=(
            description if limits.DESCRIPTION.fits(description) else None
        ),
        tags=(),
        take_over=draw(strategies.booleans()),
        extra_specs={**tiers[0].extra_specs, 'x:y': draw(TEXTS)},
    )
    for number, name in enumerate(names):
        tag = draw(TEXTS)
        tiers.append(
            catalogs.Tier(
                name=name,
                backend_name=f'b-{name}',
                priority=number + 10,
                tags=(f'{number}{tag}',)
                if tag.isprintable() and ',' not in tag
                else (),
                qos=catalogs.Qos(back_end={'x': draw(TEXTS) or '0'}),
                expect=draw(EXPECTED),
                cost=draw(COSTS),
                access=draw(
                    strategies.sampled_from(
                        (None, 'public', (), ('a' * 32, 'yes'))
                    )
                ),
            )
        )
    if draw(strategies.booleans()):
        tiers.append(
            catalogs.Tier(
                name='options',
                backend_name='volumes',
                rbd=plain.rbd(
                    pool='volumes',
                    pg_num=None,
                    primary_affinity=draw(
                        strategies.sampled_from((None, 0, 0.5, 1))
                    ),
                    osd_requirements=draw(REQUIREMENTS),
                    cache=draw(CACHES),
                    device_class=draw(strategies.sampled_from(('ssd', '5'))),
                    primary_device_class=draw(
                        strategies.sampled_from((None, 'nvme'))
                    ),
                    crush_root=draw(strategies.sampled_from(('default', 'f'))),
                    failure_domain=draw(
                        strategies.sampled_from(('host', 'rack'))
                    ),
                    protection=draw(
                        strategies.sampled_from(
                            (
                                catalogs.Replicated(
                                    size=1, min_size=1, single_copy=True
                                ),
                                catalogs.Replicated(size=3, min_size=3),
                                catalogs.Replicated(
                                    size=4,
                                    replicas_per_failure_domain=2,
                                    sub_failure_domain='osd',
                                ),
                                catalogs.ErasureCoded(k=4, m=2),
                                catalogs.ErasureCoded(
                                    k=4,
                                    m=2,
                                    plugin='isa',
                                    technique='cauchy',
                                    stripe_unit_bytes=16384,
                                    num_failure_domains=3,
                                    osds_per_failure_domain=2,
                                ),
                            )
                        )
                    ),
                    data_pool_name=draw(strategies.sampled_from((None, 'ec'))),
                    options={'target_size_ratio': 0.1, 'noscrub': True},
                    osd_options={'osd_max_backfills': draw(OPTIONS)},
                    rbd_options={'rbd_cache': draw(OPTIONS)},
                ),
            )
        )
        catalog = dataclasses.replace(
            catalog,
            clusters={
                'ceph': dataclasses.replace(
                    catalog.clusters['ceph'],
                    host_osd_options={
                        host: {'osd_max_backfills': draw(OPTIONS)}
                        for host in draw(strategies.lists(NAMES, unique=True))
                    },
                )
            },
        )
    found = dataclasses.replace(catalog, tiers=tuple(tiers))
    assume(not catalog_rules.check(found))
    return found


class WriterTestCase(testtools.TestCase):
    def write(self, catalog, comments=None, project_names=None):
        return writer.write(
            catalog, comments=comments or {}, project_names=project_names or {}
        )

    def read(self, text):
        return reader.read_text(text, file='t.yaml')

    def test_the_sample_is_written_without_its_defaults(self):
        catalog = reader.read_file(str(test_reader.SAMPLE))
        text = self.write(catalog)
        self.assertEqual(catalog, self.read(text))
        self.assertIn('      replicated: {size: 3, min_size: 2}\n', text)
        for absent in ('failure_domain', 'unprotected_writes', 'user: admin'):
            self.assertNotIn(absent, text)

    @tests.examples(300)
    @given(written_catalogs())
    def test_what_is_written_is_read_back(self, catalog):
        text = self.write(catalog)
        read = self.read(text)
        self.assertEqual(catalog, read)
        self.assertEqual(text, self.write(read))

    @tests.examples(200)
    @given(texts=strategies.lists(TEXTS))
    def test_comments_stay_comments(self, texts):
        catalog = plain.of(plain.other_tier('a', fallback=True, access=('p',)))
        text = self.write(
            catalog,
            {
                (): texts,
                ('tiers',): texts,
                ('tiers', 'a'): texts,
                ('clusters',): texts,
                ('elsewhere',): texts,
            },
            {'p': ' '.join(texts)},
        )
        self.assertEqual(catalog, self.read(text))
        for line in text.splitlines():
            self.assertTrue(line.isprintable(), line)

    def test_nothing_at_all_is_a_catalog(self):
        text = self.write(catalogs.Catalog(tiers=(), clusters={}))
        self.assertEqual('version: 1\n\ntiers: {}\n', text)
        self.assertEqual((), self.read(text).tiers)

    def test_a_catalog_without_a_fall_back_says_so(self):
        catalog = plain.of(plain.other_tier(), without_fallback=True)
        text = self.write(catalog)
        self.assertIn('fallback: none\n', text)
        self.assertEqual(catalog, self.read(text))

    def test_projects_are_written_with_their_names(self):
        text = self.write(
            plain.of(
                plain.other_tier(fallback=True, access=('a' * 32, 'b' * 32))
            ),
            project_names={'a' * 32: 'alpha'},
        )
        self.assertIn(
            f"""    access:
    - {'a' * 32}  # alpha
    - {'b' * 32}
""",
            text,
        )
