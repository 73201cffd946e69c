# SPDX-License-Identifier: Apache-2.0

"""Volumes of tiers as rows of a table. Pure."""

import collections
import collections.abc

from cinder_tiers.cli.render import cells
from cinder_tiers.domain.audit import volumes as audit_volumes

VOLUME_COLUMNS = (
    'Volume',
    'Name',
    'Project',
    'GiB',
    'Type',
    'Tier',
    'Image Tier',
    'State',
    'Remark',
)
SUM_COLUMNS = ('Tier', 'Project', 'Volumes', 'GiB', 'Wrong')

_Names = collections.abc.Mapping[str, str]


def volume_row(
    listed: audit_volumes.ListedVolume, projects: _Names
) -> cells.Row:
    """Return a volume under VOLUME_COLUMNS.

    :param projects: {id: name}
    """
    volume, verdict = listed.volume, listed.verdict
    remarks = [
        *(
            [verdict.reason, verdict.remedy]
            if verdict.state is not audit_volumes.State.COMPLIANT
            else []
        ),
        *(
            [f'its image now selects tier {verdict.image_tier}']
            if verdict.image_tier
            else []
        ),
        *listed.near_tags,
    ]
    return (
        cells.printable(volume.volume_id),
        cells.printable(volume.name or ''),
        cells.printable(projects.get(volume.project, volume.project)),
        volume.size_gib,
        cells.printable(volume.type_name or ''),
        cells.Optional(verdict.tier),
        cells.Optional(verdict.image_tier),
        verdict.state.value,
        cells.printable('; '.join(filter(None, remarks))),
    )


def sum_rows(
    listed: collections.abc.Iterable[audit_volumes.ListedVolume],
    projects: _Names,
) -> list[cells.Row]:
    """Return the volumes of each tier and project, under SUM_COLUMNS.

    :param projects: {id: name}
    """
    count: collections.Counter = collections.Counter()
    size_gib: collections.Counter = collections.Counter()
    wrong: collections.Counter = collections.Counter()
    for one in listed:
        key = (one.verdict.tier or '', one.volume.project)
        count[key] += 1
        size_gib[key] += one.volume.size_gib
        wrong[key] += one.is_wrong
    return [
        (
            cells.Optional(tier or None),
            cells.printable(projects.get(project, project)),
            count[tier, project],
            size_gib[tier, project],
            wrong[tier, project],
        )
        for tier, project in sorted(count)
    ]
