# SPDX-License-Identifier: Apache-2.0

"""What is said of tiers of which one lost failure domain stops all I/O."""

import ddt
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.validation import rules
from cinder_tiers.domain.validation import warnings


def found(rule=rules.LOST_DOMAIN, **settings):
    """The warnings of a tier with an erasure code, or with copies."""
    make = catalogs.Replicated if 'size' in settings else catalogs.ErasureCoded
    catalog = catalogs.Catalog(
        clusters={'ceph': catalogs.Cluster(name='ceph')},
        tiers=(
            catalogs.Tier(
                name='archive',
                fallback=True,
                rbd=catalogs.RbdPool(
                    cluster='ceph',
                    pool='archive',
                    failure_domain='zone',
                    protection=make(**settings),
                ),
            ),
        ),
    )
    return [one for one in warnings.check(catalog) if one.rule == rule]


def copies(size, each, min_size=None, **changes):
    return {
        'size': size,
        'min_size': min_size,
        'replicas_per_failure_domain': each,
        'sub_failure_domain': 'host',
        **changes,
    }


@ddt.ddt
class LostFailureDomainTestCase(testtools.TestCase):
    @ddt.data(
        # (k, m, failure domains, OSDs in each, min_size, m that is enough)
        (4, 2, 3, 2, None, 3),
        (4, 2, 3, 2, 5, 3),
        (4, 2, 3, 2, 6, 4),
        (8, 4, 3, 4, None, 5),
    )
    @ddt.unpack
    def test_it_is_said_with_the_m_that_is_enough(
        self, k, m, domains, each, min_size, enough
    ):
        (one,) = found(
            k=k,
            m=m,
            num_failure_domains=domains,
            osds_per_failure_domain=each,
            min_size=min_size,
        )
        self.assertIn(f'm of at least {enough} ', one.expected)
        self.assertIn(f'leaves {k + m - each} of {k + m} chunks', one.found)
        self.assertEqual(
            [],
            found(
                k=k,
                m=enough,
                num_failure_domains=-(-(k + enough) // each),
                osds_per_failure_domain=each,
                min_size=min_size,
            ),
        )

    @ddt.data(
        {'k': 8, 'm': 6, 'num_failure_domains': 4, 'each': 4},
        # It was asked for in words that k chunks are enough.
        {'k': 4, 'm': 2, 'num_failure_domains': 3, 'each': 2, 'min_size': 4},
        # Each chunk has a failure domain of its own.
        {'k': 2, 'm': 1, 'num_failure_domains': None, 'each': None},
    )
    def test_nothing_is_said_where_io_goes_on(self, settings):
        each = settings.pop('each')
        self.assertEqual([], found(**settings, osds_per_failure_domain=each))


@ddt.ddt
class SharedByCopiesTestCase(testtools.TestCase):
    @ddt.data((4, 2, 3, 2), (4, 2, 4, 2), (6, 3, 4, 3), (6, 2, 5, 4))
    @ddt.unpack
    def test_it_is_said_with_the_min_size_that_is_enough(
        self, size, each, min_size, enough
    ):
        (one,) = found(**copies(size, each, min_size))
        self.assertEqual(
            f'the loss of one zone leaves {enough} of {size} copies, fewer '
            f"than min_size {min_size}: I/O of tier 'archive' would stop "
            'until it is back',
            one.found,
        )
        self.assertEqual(f'a min_size of at most {enough}', one.expected)
        self.assertEqual([], found(**copies(size, each, enough)))

    @ddt.data((4, 2), (6, 3), (6, 2), (8, 2), (10, 5))
    @ddt.unpack
    def test_nothing_is_said_of_the_min_size_of_a_new_pool(self, size, each):
        for rule in (rules.LOST_DOMAIN, rules.ONE_DOMAIN):
            self.assertEqual([], found(rule, **copies(size, each)))

    @ddt.data((6, 2, 2, '3 to 4'), (8, 2, 2, '3 to 6'), (9, 3, 2, '4 to 6'))
    @ddt.unpack
    def test_one_of_several_domains_may_have_all(
        self, size, each, min_size, enough
    ):
        (one,) = found(rules.ONE_DOMAIN, **copies(size, each, min_size))
        self.assertIn('all copies of a write may be in one zone', one.found)
        self.assertEqual(f'a min_size from {enough}', one.expected)
        least = int(enough[0])
        self.assertEqual(
            [], found(rules.ONE_DOMAIN, **copies(size, each, least))
        )

    @ddt.data(
        # One of two has to go on alone.
        copies(4, 2, 2),
        copies(6, 3, 2),
        # It was asked for in words.
        copies(6, 2, 1, unprotected_writes=True),
        # No two copies share one.
        {'size': 3, 'min_size': 2},
    )
    def test_it_is_not_said_where_it_cannot_be_better(self, settings):
        self.assertEqual([], found(rules.ONE_DOMAIN, **settings))
