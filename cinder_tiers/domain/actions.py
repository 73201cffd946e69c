# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Actions: what a plan consists of.

An action is a value. What carries it out is registered elsewhere by the kind
of its object, and must find here all that it needs. Must not know Cinder's or
Ceph's API.
"""

import collections.abc
import dataclasses
import enum

from cinder_tiers.domain import state

Resource = (state.CrushRule | state.ErasureCodeProfile | state.Pool
            | state.CephxUser | state.OsdOptions | state.VolumeType
            | state.QosSpec | state.TypeQuota)


class Kind(enum.Enum):
    """Kinds of objects, in the order in which they are made."""

    ERASURE_CODE_PROFILE = 'erasure code profile'
    CRUSH_RULE = 'crush rule'
    POOL = 'pool'
    OSD_OPTIONS = 'osd options'
    CEPHX_USER = 'cephx user'
    VOLUME_TYPE = 'volume type'
    QOS_SPEC = 'qos spec'
    TYPE_QUOTA = 'default quota'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Key:
    """Names one object of the world."""

    kind: Kind
    #: Name of the cluster in the catalog; None for an object of Cinder.
    cluster: str | None = None
    name: str

    def __str__(self) -> str:
        """Kind and name, and the cluster in parentheses."""
        where = f' ({self.cluster})' if self.cluster else ''
        return f'{self.kind.value} {self.name}{where}'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Refusal:
    """Why an action needs an operator's hand, and what the hand can do."""

    reason: str
    remedy: str

    def __str__(self) -> str:
        return f'{self.reason}; {self.remedy}'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Action:
    """One object that is not as it should be."""

    key: Key
    #: As it is; None when it does not exist.
    before: Resource | None
    #: As it should be; None when it should not exist.
    after: Resource | None
    #: What asks for it, in a few words.
    why: str
    #: Objects that must be right before this action makes sense.
    needs: frozenset[Key] = frozenset()
    #: None when the action may be carried out.
    refusal: Refusal | None = None

    @property
    def verb(self) -> str:
        """create, update or delete."""
        if self.before is None:
            return 'create'
        return 'delete' if self.after is None else 'update'


class Outcome(enum.Enum):
    """What became of an action."""

    DONE = 'done'
    FAILED = 'failed'
    SKIPPED = 'skipped'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Result:
    """An action and what became of it."""

    action: Action
    outcome: Outcome
    #: Why it failed or was skipped; '' when done.
    reason: str = ''


@dataclasses.dataclass(frozen=True, kw_only=True)
class Difference:
    """One field of an object that is not as it should be."""

    #: Name of the field, with a dot and a key for a field that is a mapping.
    field: str
    #: Both None when absent.
    before: object
    after: object


def fields_of(resource: Resource) -> dict[str, object]:
    """The fields of a resource, its mappings spread out.

    :returns: {field or field.key: value}, without the name of the resource
        and without notes.

    >>> fields_of(state.CephxUser(name='client.a', caps={'mon': 'allow r'}))
    {'caps.mon': 'allow r'}
    """
    result: dict[str, object] = {}
    for field in dataclasses.fields(resource):
        value = getattr(resource, field.name)
        if field.metadata.get('is_note'):
            continue
        if isinstance(value, collections.abc.Mapping):
            result.update({f'{field.name}.{key}': value[key]
                           for key in sorted(value)})
        elif field.name != 'name':
            result[field.name] = value
    return result


def differences(before: Resource, after: Resource,
                ) -> tuple[Difference, ...]:
    """What separates a resource from what it should be.

    :param before: as it is.
    :param after: as it should be; fields that may be left to the service
        are not compared when they are None, nor keys of mappings that may be
        left to it when they are absent.
    :returns: in the order of the fields; empty when nothing is to be done.
    """
    free = {field.name for field in dataclasses.fields(after)
            if field.metadata.get('none_is_any')
            and getattr(after, field.name) is None}
    old, new = fields_of(before), fields_of(after)
    loose = tuple(f'{field.name}.' for field in dataclasses.fields(after)
                  if field.metadata.get('absent_is_any'))
    free |= {name for name in old
             if name.startswith(loose) and name not in new}
    return tuple(
        Difference(field=name, before=old.get(name), after=new.get(name))
        for name in dict.fromkeys((*old, *new))
        if name not in free and old.get(name) != new.get(name))
