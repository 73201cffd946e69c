# SPDX-License-Identifier: Apache-2.0

"""What is said of tiers of which one lost failure domain stops all I/O."""

import ddt
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.validation import rules
from cinder_tiers.domain.validation import warnings


def found(**settings):
    """The warnings of a tier with an erasure code."""
    catalog = catalogs.Catalog(
        clusters={'ceph': catalogs.Cluster(name='ceph')},
        tiers=(
            catalogs.Tier(
                name='archive',
                fallback=True,
                rbd=catalogs.RbdPool(
                    cluster='ceph',
                    pool='archive',
                    protection=catalogs.ErasureCoded(**settings),
                ),
            ),
        ),
    )
    return [
        one for one in warnings.check(catalog) if one.rule == rules.LOST_DOMAIN
    ]


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
