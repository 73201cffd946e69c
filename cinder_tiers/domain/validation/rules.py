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


#: {id: what is asked for, as a sentence}
ALL: collections.abc.Mapping[str, str] = types.MappingProxyType(
    {
        UNREADABLE: 'The file can be read, is UTF-8 text, and is not too big.',
        YAML: 'The file is one document of plain YAML within its limits.',
        KEY: 'Keys are text, and each is there once.',
        NUMBER: 'Numbers mean to YAML 1.1 what they mean to a reader.',
        INCLUDE: 'Included files exist, below one folder, and fit together.',
        UNKNOWN_KEY: 'Each key is one that a tiers file has.',
        MISSING_KEY: 'Keys that are needed are there.',
        VALUE: 'Each value is one that its key may have.',
        FALLBACK: 'One tier is the fallback, or one for each zone.',
        TYPE_NAME: 'Each volume type has one meaning.',
        TAG: 'Tags can be stored, and a tier has each of them once.',
        SHARED_TAG: 'A tag selects one tier.',
        PRIORITY: 'Tiers with tags have different priorities.',
        STORAGE: 'Each tier says where its volumes are stored.',
        EXTRA_SPEC: 'Extra specs are not those that other keys set.',
        OVERFLOW: 'Overflow goes to another tier on another backend.',
        CLUSTER: 'A cluster that a tier names is declared.',
        PROTECTION: 'Copies and chunks are possible, and risk is asked for.',
        SHARED_POOL: 'Each pool has one owner.',
        SHARED_BACKEND: 'A backend of tiers with pools leads to one pool.',
        OSD_REQUIREMENTS: 'One OSD can meet the requirements of its tiers.',
        EXPECTATION: 'Limits of expected performance can be met.',
        QOS_LIMIT: 'Limits of QoS are known to Nova or the RBD driver.',
        LIMIT_BY_SIZE: 'The driver sets the limits that grow with volumes.',
        FRONT_END: 'Limits can change while servers run.',
        OSD_OPTION: 'Options of OSDs exist in a release of Ceph.',
        FIO_PATTERN: 'Patterns of fio exist in a profile.',
        COMPRESSION_HINT: 'Hints of compression have an effect.',
        LOST_DOMAIN: 'One lost failure domain of shared ones stops no I/O.',
        ONE_DOMAIN: 'No write is in one failure domain of several only.',
        NO_FALLBACK: 'Types that follow the image have a fallback tier.',
        CARD: 'Promises and figures are not written into descriptions.',
        CARD_ROOM: 'Descriptions leave room for figures.',
        SHARED_CONF: 'Each cluster is reached in a way of its own.',
        SHARED_SECRET: 'Each cluster has a libvirt secret of its own.',
        **{
            of_kind(
                kind
            ): f'What is declared of this kind can be made: {kind.value}.'
            for kind in actions.Kind
        },
    }
)
