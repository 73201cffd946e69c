# SPDX-License-Identifier: Apache-2.0

"""Warnings about a sound catalog, which can be applied as it is. Pure."""

import collections.abc
import dataclasses

from cinder_tiers.domain.catalog import fio_patterns
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import failure_domains
from cinder_tiers.domain.resources import osd_options
from cinder_tiers.domain.resources import qos_spec
from cinder_tiers.domain.resources import rbd_options
from cinder_tiers.domain.validation import cards
from cinder_tiers.domain.validation import clusters as cluster_rules
from cinder_tiers.domain.validation import fallback
from cinder_tiers.domain.validation import rules

_CHECKS = {
    rules.QOS_LIMIT: qos_spec.misspelled,
    rules.LIMIT_BY_SIZE: qos_spec.by_size,
    rules.FRONT_END: qos_spec.of_servers,
    rules.OSD_OPTION: osd_options.unknown_names,
    rules.FIO_PATTERN: fio_patterns.unknown,
    rules.COMPRESSION_HINT: rbd_options.unheeded_hints,
    rules.LOST_DOMAIN: failure_domains.stopped_by_one,
    rules.ONE_DOMAIN: failure_domains.written_in_one,
    rules.SHARED_CONF: cluster_rules.with_one_connection,
    rules.SHARED_SECRET: cluster_rules.with_one_secret,
    rules.CARD_ROOM: cards.without_room,
}


def check(
    catalog: catalogs.Catalog,
) -> collections.abc.Iterator[errors.Problem]:
    """Yield all warnings, each with the id of its rule.

    :param catalog: sound catalog.
    """
    for rule, find in _CHECKS.items():
        for problem in find(catalog):
            yield dataclasses.replace(problem, rule=rule)
    if fallback.has_open_default(catalog):
        types = ', '.join(catalog.follow_image_types)
        yield errors.Problem(
            rule=rules.NO_FALLBACK,
            where=catalog.source.where(('follow_image_types',)),
            found=(
                'no tier is the fallback, so blank volumes and volumes from '
                'untagged images that have a type in follow_image_types '
                f'({types}) go to any backend that the project may use'
            ),
            expected='a tier with fallback: true',
            remedy=(
                'do not set such a type as default_volume_type before a tier '
                'with fallback: true is applied'
            ),
        )
