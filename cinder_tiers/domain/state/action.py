# SPDX-License-Identifier: Apache-2.0

"""Actions: the elements of a plan.

An action is a value that has all the data to carry it out; the code for that
is registered elsewhere by the kind of its object. Must not know the API of
Cinder or Ceph.
"""

import collections.abc
import dataclasses
import enum
import shlex

from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import difference
from cinder_tiers.domain.state import glance as glance_state
from cinder_tiers.domain import text as escaping

Resource = (
    ceph_state.CrushRule
    | ceph_state.ErasureCodeProfile
    | ceph_state.Pool
    | ceph_state.CephxUser
    | ceph_state.CacheTier
    | ceph_state.OsdOptions
    | ceph_state.PrimaryAffinity
    | cinder_state.VolumeType
    | cinder_state.QosSpec
    | cinder_state.TypeQuota
    | cinder_state.TypeEncryption
    | cinder_state.ProjectDefaults
    | glance_state.TagNamespace
)

#: Message for a refusal that does not yield to consent.
NOT_ALLOWABLE = 'it cannot be allowed: apply refuses it with --allow, too'


class Kind(enum.Enum):
    """Kinds of objects, in the order in which they are created."""

    ERASURE_CODE_PROFILE = 'erasure code profile'
    CRUSH_RULE = 'crush rule'
    POOL = 'pool'
    OSD_OPTIONS = 'osd options'
    HOST_OSD_OPTIONS = 'host osd options'
    PRIMARY_AFFINITY = 'primary affinity'
    CEPHX_USER = 'cephx user'
    # After the user: clients reach the cache pool as soon as it is in front.
    CACHE_TIER = 'cache tier'
    VOLUME_TYPE = 'volume type'
    QOS_SPEC = 'qos spec'
    TYPE_QUOTA = 'default quota'
    TYPE_ENCRYPTION = 'type encryption'
    PROJECT_DEFAULTS = 'project defaults'
    # Last: what tags select is there.
    TAG_NAMESPACE = 'tag namespace'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Key:
    """Name of an object of the cloud."""

    kind: Kind
    #: Name of the cluster in the catalog; None for an object of Cinder
    #: or Glance.
    cluster: str | None = None
    name: str

    @property
    def of_cluster(self) -> str:
        """Name of the Ceph cluster of the object.

        :raises ValueError: it is an object of Cinder or Glance.
        """
        if self.cluster is None:
            raise ValueError(f'{self} is in no Ceph cluster')
        return self.cluster

    def __str__(self) -> str:
        """Return kind and name, and the cluster in parentheses."""
        where = f' ({self.cluster})' if self.cluster else ''
        return f'{self.kind.value} {self.name}{where}'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Refusal:
    """Reason of a refused action, and how an operator can proceed."""

    #: A clause, such as `it would open a private volume type`.
    reason: str
    #: Remedy as an imperative.
    remedy: str
    #: Whether an operator can allow it by naming the object.
    yields_to_consent: bool = False
    #: Ids of the projects named in the reason.
    projects: frozenset[str] = frozenset()


def joined(refusals: collections.abc.Iterable[Refusal]) -> Refusal | None:
    """Return all refusals of one action as one, or None.

    It yields to consent if each of them does.
    """
    several = tuple(refusals)
    if not several:
        return None
    return Refusal(
        reason='; '.join(one.reason for one in several),
        remedy='; '.join(one.remedy for one in several),
        yields_to_consent=all(one.yields_to_consent for one in several),
        projects=frozenset().union(*(one.projects for one in several)),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Action:
    """A change of one object to its declared state."""

    key: Key
    #: Existing object; None if it does not exist.
    before: Resource | None
    #: Declared object; None if it should not exist.
    after: Resource | None
    #: Origin of the requirement, in a few words.
    why: str
    #: Notes to read before it is done, each a clause; a saved plan stays valid
    #: when they change.
    notes: tuple[str, ...] = ()
    #: Objects that must be complete before this action.
    needs: frozenset[Key] = frozenset()
    #: None if the action may be carried out.
    refusal: Refusal | None = None
    #: The refusal that an operator overcame by naming the object.
    consented: Refusal | None = None
    #: Object whose change ends with this action, and may have been interrupted
    #: before it. So that the same consent finishes it, the name of that object
    #: also allows this action while the object itself is not refused.
    continues: Key | None = None
    #: Object that is incomplete without this action.
    completes: Key | None = None
    #: Interim state of the object until everything that completes it, or that
    #: it needs, exists; None if it is created as a whole.
    meanwhile: Resource | None = None

    @property
    def verb(self) -> str:
        """The text create, update or delete."""
        if self.before is None:
            return 'create'
        return 'delete' if self.after is None else 'update'

    @property
    def changes(self) -> tuple[difference.Difference, ...]:
        """Fields of an update; empty for a creation or a deletion."""
        if self.before is None or self.after is None:
            return ()
        return difference.differences(self.before, self.after)

    @property
    def projects(self) -> frozenset[str]:
        """Ids of the projects whose access, types, volumes or quotas change.

        They include projects named in a refusal.
        """
        found: set[str] = set()
        for side in (self.before, self.after):
            if isinstance(side, cinder_state.VolumeType):
                found |= side.projects | side.volumes_of.keys()
            elif isinstance(side, cinder_state.TypeQuota):
                found |= side.exceeded_by
            elif isinstance(side, cinder_state.ProjectDefaults):
                found |= side.default_for
        for refusal in (self.refusal, self.consented):
            if refusal is not None:
                found |= refusal.projects
        return frozenset(found)

    @property
    def remedy(self) -> str:
        """Ways to resolve a refusal; '' without one."""
        if self.refusal is None:
            return ''
        if not self.refusal.yields_to_consent:
            return f'{self.refusal.remedy}; {NOT_ALLOWABLE}'
        return (
            f'{self.refusal.remedy}; or, to accept it, add '
            f'{self.consent_argument} to "tier plan" and "tier apply"'
        )

    @property
    def consent_argument(self) -> str:
        """Argument of a command that allows the action."""
        return f'--allow {shlex.quote(str(self.key))}'

    @property
    def objection(self) -> str:
        """Reason of the refusal and its remedies; '' without one."""
        return f'{self.refusal.reason}; {self.remedy}' if self.refusal else ''

    @property
    def explanation(self) -> str:
        """Lines with the reasons, and notes to read before the action.

        Characters that are not printable are escaped in each line.
        """
        lines = ['; '.join((self.why, *self.notes))]
        if self.refusal:
            lines.append(self.objection)
        elif self.consented:
            lines.append(f'allowed, although {self.consented.reason}')
        return '\n'.join(map(escaping.printable, lines))


class Outcome(enum.Enum):
    """Outcome of an action."""

    DONE = 'done'
    FAILED = 'failed'
    SKIPPED = 'skipped'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Result:
    """An action and its outcome."""

    action: Action
    outcome: Outcome
    #: Reason why it failed or was skipped, or ''.
    reason: str = ''
