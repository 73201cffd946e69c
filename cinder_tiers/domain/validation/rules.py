# SPDX-License-Identifier: Apache-2.0

"""The rules for a tiers file: their ids and requirements.

Ids are public: CI systems recognise a finding by its id, and people put ids
into lists of exceptions, so an id never gets another meaning. Pure. Must not
know how a rule is checked, nor how findings are shown.
"""

import collections.abc
import types

from cinder_tiers.domain.state import action as actions

UNREADABLE = 'unreadable-file'
YAML = 'yaml'
KEY = 'repeated-key'
NUMBER = 'ambiguous-number'
INCLUDE = 'include'
UNKNOWN_KEY = 'unknown-key'
MISSING_KEY = 'missing-key'
VALUE = 'wrong-value'
FALLBACK = 'fallback'
TYPE_NAME = 'type-name'
TAG = 'tag'
SHARED_TAG = 'shared-tag'
PRIORITY = 'priority'
STORAGE = 'storage'
EXTRA_SPEC = 'extra-spec'
OVERFLOW = 'overflow'
CLUSTER = 'unknown-cluster'
PROTECTION = 'protection'
SHARED_POOL = 'shared-pool'
SHARED_BACKEND = 'shared-backend'
OSD_REQUIREMENTS = 'osd-requirements'
EXPECTATION = 'expectation'
QOS_LIMIT = 'unknown-qos-limit'
LIMIT_BY_SIZE = 'limit-by-size'
FRONT_END = 'front-end-limits'
OSD_OPTION = 'unknown-osd-option'
FIO_PATTERN = 'unknown-fio-pattern'
COMPRESSION_HINT = 'unheeded-compression-hint'
LOST_DOMAIN = 'lost-failure-domain'
ONE_DOMAIN = 'one-failure-domain'
NO_FALLBACK = 'no-fallback'
CARD = 'card'
CARD_ROOM = 'room-for-card'
SHARED_CONF = 'shared-conf'
SHARED_SECRET = 'shared-secret'  # noqa: S105 - the name of a rule


def of_kind(kind: actions.Kind) -> str:
    """Return the id of the rules that belong to a kind of resource.

    >>> of_kind(actions.Kind.QOS_SPEC)
    'qos-spec'
    """
    return kind.value.replace(' ', '-')


#: {id: requirement, as a sentence}
ALL: collections.abc.Mapping[str, str] = types.MappingProxyType(
    {
        UNREADABLE: 'The file can be read, is UTF-8 text, and is not too big.',
        YAML: 'The file is one document of plain YAML within its limits.',
        KEY: 'Keys are text, and none is repeated.',
        NUMBER: 'Numbers mean the same to YAML 1.1 and to people.',
        INCLUDE: 'Included files exist, below one folder, and fit together.',
        UNKNOWN_KEY: 'All keys are known.',
        MISSING_KEY: 'All required keys are present.',
        VALUE: 'Each value is valid for its key.',
        FALLBACK: 'One tier is the fallback, or one for each zone.',
        TYPE_NAME: 'Each volume type has one meaning.',
        TAG: 'Tags can be stored, and a tier has each of them once.',
        SHARED_TAG: 'A tag selects one tier.',
        PRIORITY: 'Tiers with tags have different priorities.',
        STORAGE: 'Each tier names the storage of its volumes.',
        EXTRA_SPEC: 'Extra specs do not repeat what other keys set.',
        OVERFLOW: 'Overflow goes to another tier on another backend.',
        CLUSTER: 'Each cluster of a tier is declared.',
        PROTECTION: 'Copies and chunks are valid, and risks are explicit.',
        SHARED_POOL: 'Each pool has one owner.',
        SHARED_BACKEND: 'Tiers with different pools have different backends.',
        OSD_REQUIREMENTS: 'One OSD can meet the requirements of its tiers.',
        EXPECTATION: 'Expectations are valid, and can be met together.',
        QOS_LIMIT: 'Limits of QoS are known to Nova or the RBD driver.',
        LIMIT_BY_SIZE: 'Limits by size need a driver that sets them.',
        FRONT_END: 'Limits can change while servers run.',
        OSD_OPTION: 'Options of OSDs exist in a release of Ceph.',
        FIO_PATTERN: 'Patterns of fio exist in a profile.',
        COMPRESSION_HINT: 'Hints of compression have an effect.',
        LOST_DOMAIN: 'The loss of one failure domain does not stop I/O.',
        ONE_DOMAIN: 'No write is in one failure domain only.',
        NO_FALLBACK: 'Types that follow the image have a fallback tier.',
        CARD: 'Descriptions contain no promises and figures.',
        CARD_ROOM: 'Descriptions leave room for figures.',
        SHARED_CONF: 'Each cluster has its own connection.',
        SHARED_SECRET: 'Each cluster has a libvirt secret of its own.',
        **{
            of_kind(
                kind
            ): f'Declarations of this kind are valid: {kind.value}.'
            for kind in actions.Kind
        },
    }
)
