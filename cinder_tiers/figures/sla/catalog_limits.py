# SPDX-License-Identifier: Apache-2.0

"""Expectations of tiers out of plain values, as task files and catalogs have.

Of a catalog (a tiers file of cinder-tiers) only what it expects of tiers is
read: whether the rest is sound says ``openstack tier validate``.
"""

from collections.abc import Iterator
from collections.abc import Mapping

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.domain import errors

# Of the format of catalogs.
_VERSION = 1


def problems(
    expected: Mapping[str, object], *, where: str
) -> Iterator[errors.Problem]:
    """Yield all problems of expectations of tiers.

    :param expected: {tier: its expectations, unchecked}
    :param where: name of the source in messages
    """
    for tier, of_tier in expected.items():
        for fault in expectations.faults(of_tier):
            place = '.'.join((str(tier), *fault.path))
            yield errors.Problem(
                where=f'{where}: {place}',
                found=fault.found,
                expected=fault.expected,
                remedy=fault.remedy,
            )


def read_catalog(
    document: object, *, file: str
) -> dict[str, expectations.Expectations]:
    """Read a catalog's expectations of its tiers.

    :param document: content of the file as plain values
    :param file: name of the file in messages
    :returns: {tier: its expectations}, without tiers that have none
    :raises cinder_tiers.domain.errors.ProblemsFound: not a tiers file, or an
        invalid expectation; all problems
    """
    catalog = document if isinstance(document, Mapping) else {}
    if 'include' in catalog:
        raise errors.ProblemsFound(
            [
                errors.Problem(
                    where=file,
                    found='a tiers file that includes others',
                    expected='one that stands alone',
                    remedy='name what "openstack tier validate --merged" '
                    'prints',
                )
            ]
        )
    tiers = catalog.get('tiers')
    if not isinstance(tiers, Mapping) or catalog.get('version') != _VERSION:
        raise errors.ProblemsFound(
            [
                errors.Problem(
                    where=file,
                    found='no catalog of tiers',
                    expected=f'a mapping with version: {_VERSION} and tiers',
                    remedy='see what "openstack tier validate" says of it',
                )
            ]
        )
    found = {
        str(name): tier['expect']
        for name, tier in tiers.items()
        if isinstance(tier, Mapping) and 'expect' in tier
    }
    wrong = list(problems(found, where=f'{file}: tiers'))
    if wrong:
        raise errors.ProblemsFound(wrong)
    return found
