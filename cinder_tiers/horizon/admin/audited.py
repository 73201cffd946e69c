# SPDX-License-Identifier: Apache-2.0

"""Usage and problems of each tier, read in a few calls.

Reads one page of volumes and one page of images; `openstack tier audit
--volumes` reads all of them.
"""

import collections
import dataclasses
import itertools

import openstack.connection

from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.domain.audit import volumes as audit_volumes
from cinder_tiers.domain import errors
from cinder_tiers.domain.explain import tier_list
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.domain.placement import decision
from cinder_tiers.domain import text
from cinder_tiers.observe import visible_cloud

#: Volumes, and images, that are read; also the most that Cinder
#: (osapi_max_limit) and Glance (api_limit_max) give in a page by default.
MOST = 1000
#: Volumes that are shown one by one.
_MOST_SHOWN = 100


@dataclasses.dataclass(frozen=True, kw_only=True)
class WrongVolume:
    """A volume of which something is to be said, made harmless."""

    volume_id: str
    tier: str
    state: str
    reason: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class AuditedTier:
    """An applied tier, and what of the volumes is on it."""

    name: str
    volume_type: str
    tags: str
    access: str
    #: Empty: there is none.
    problem: str
    volumes: int
    size_gib: int
    wrong: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class AuditedTiers:
    """The tiers, and the volumes that were looked at."""

    tiers: tuple[AuditedTier, ...]
    #: How many volumes were looked at, and how many of them are of no tier.
    volumes: int
    untiered: int
    wrong: tuple[WrongVolume, ...]
    #: How many are wrong, those that are not in `wrong` included.
    wrong_count: int

    @property
    def has_more(self) -> bool:
        """Return whether there may be more volumes."""
        return self.volumes == MOST


class _Images:
    """The newest images of all projects; read when one is first asked for."""

    def __init__(self, connection: openstack.connection.Connection) -> None:
        self._connection = connection
        self._found: dict[str, facts.KnownImage] | None = None

    def find(self, image_id: str) -> facts.KnownImage | None:
        """An image; None when it is gone.

        :raises errors.TiersError: Glance does not answer, or has more images
            than are read, and this one is not among them.
        """
        if self._found is None:
            with openstack_client.asking('Glance did not list images'):
                self._found = {
                    one['id']: visible_cloud.parse_image(one)
                    for one in itertools.islice(
                        visible_cloud.list_images(
                            self._connection, visibility='all', limit=MOST
                        ),
                        MOST,
                    )
                }
        if image_id not in self._found and len(self._found) == MOST:
            raise errors.NotVisible(
                f'image {image_id} is not among the {MOST:,} newest, which '
                'are all that this page reads'
            )
        return self._found.get(image_id)


def audited(
    connection: openstack.connection.Connection, policy: decision.Policy
) -> AuditedTiers:
    """The tiers and the newest volumes of all projects.

    :raises errors.TiersError: a service does not answer, or refuses.
    """
    known = visible_cloud.observe(connection)
    if not known.is_admin:
        raise errors.NotVisible(
            'Cinder shows the volumes of all projects only to an '
            'administrator of block storage'
        )
    tiers = tier_list.applied(known)
    volumes: collections.Counter = collections.Counter()
    sizes_gib: collections.Counter = collections.Counter()
    wrong_on: collections.Counter = collections.Counter()
    wrong: list[WrongVolume] = []
    with openstack_client.asking('Cinder did not list volumes'):
        found = [
            visible_cloud.parse_volume(one, known)
            for one in itertools.islice(
                visible_cloud.list_volumes(
                    connection, all_tenants='True', limit=MOST
                ),
                MOST,
            )
        ]
    for one in audit_volumes.list_volumes(
        volumes=found,
        known=known,
        find_image=_Images(connection).find,
        policy=policy,
    ):
        tier = one.verdict.tier
        volumes[tier] += 1
        sizes_gib[tier] += one.volume.size_gib
        if one.is_wrong:
            wrong_on[tier] += 1
            if len(wrong) < _MOST_SHOWN:
                wrong.append(_wrong(one))
    return AuditedTiers(
        tiers=tuple(
            AuditedTier(
                name=text.printable(tier.name),
                volume_type=text.printable(tier.volume_type),
                tags=text.clipped_list(tier.tags),
                access=(
                    'public'
                    if tier.is_public
                    else f'private, projects: {len(tier.projects)}'
                ),
                problem=text.printable(tier.problem),
                volumes=volumes[tier.name],
                size_gib=sizes_gib[tier.name],
                wrong=wrong_on[tier.name],
            )
            for tier in tiers
        ),
        volumes=len(found),
        untiered=volumes[None],
        wrong=tuple(wrong),
        wrong_count=wrong_on.total(),
    )


def _wrong(one: audit_volumes.ListedVolume) -> WrongVolume:
    verdict = one.verdict
    said = [verdict.reason] if verdict.reason else []
    if verdict.image_tier:
        said.append(f'its image selects tier {verdict.image_tier} today')
    return WrongVolume(
        volume_id=text.printable(one.volume.volume_id),
        tier=text.printable(verdict.tier or ''),
        state=verdict.state.value,
        reason=text.clipped(
            text.printable('; '.join([*said, *one.near_tags]))
        ),
    )
