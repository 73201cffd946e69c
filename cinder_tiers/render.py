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

"""Plans and results as rows of a table, and backends as cinder.conf.

Pure. Must not know where its arguments came from, nor how cliff prints.
"""

import collections.abc
import configparser
import io

from cliff import columns

from cinder_tiers.domain import actions
from cinder_tiers.domain import catalog as catalogs
from cinder_tiers.domain import desired

PLAN_COLUMNS = ('Action', 'Object', 'Before', 'After', 'Why')
RESULT_COLUMNS = ('Action', 'Object', 'Before', 'After', 'Result')

Row = tuple[object, ...]


def printable(text: str) -> str:
    r"""A text in which nothing can steer a terminal.

    >>> printable('a\x1b[2J\u202eb')
    'a\\x1b[2J\\u202eb'
    """
    return ''.join(
        char if char.isprintable()
        else char.encode('unicode_escape').decode('ascii') for char in text)


class Fields(columns.FormattableColumn):
    """Fields of an object: one per line for people, a map for programs."""

    def human_readable(self) -> str:
        """`field: value` lines; a dash when there are none."""
        lines = [f'{name}: {_text(value)}'
                 for name, value in self._value.items()]
        return '\n'.join(lines) or '-'

    def machine_readable(self) -> dict[str, object]:
        """{field: value}, with values that JSON has."""
        return {name: sorted(value) if isinstance(value, frozenset) else value
                for name, value in self._value.items()}


def _text(value: object) -> str:
    if value is None:
        return '-'
    if isinstance(value, frozenset):
        return ', '.join(sorted(value)) or '-'
    return str(value)


def plan_row(action: actions.Action) -> Row:
    """An action under PLAN_COLUMNS."""
    verb, why = action.verb, action.why
    if action.refusal:
        verb, why = f'refused: {verb}', f'{why}\n{action.refusal}'
    return (verb, str(action.key), *_before_after(action), why)


def result_row(result: actions.Result) -> Row:
    """A result under RESULT_COLUMNS."""
    outcome = result.outcome.value
    if result.reason:
        outcome = f'{outcome}: {result.reason}'
    action = result.action
    return (action.verb, str(action.key), *_before_after(action), outcome)


def _before_after(action: actions.Action) -> tuple[Fields, Fields]:
    """Only what differs; what is set when there is one side."""
    if action.before and action.after:
        changed = actions.differences(action.before, action.after)
        return (Fields({one.field: one.before for one in changed}),
                Fields({one.field: one.after for one in changed}))
    return _set_fields(action.before), _set_fields(action.after)


def _set_fields(resource: actions.Resource | None) -> Fields:
    if resource is None:
        return Fields({})
    return Fields({name: value
                   for name, value in actions.fields_of(resource).items()
                   if value not in (None, False, '', frozenset())})


def backends(catalog: catalogs.Catalog, *, default_conf: str,
             secret_uuid: str | None) -> dict[str, dict[str, str]]:
    """What cinder.conf needs for the tiers.

    :param default_conf: ceph.conf of clusters that name none.
    :param secret_uuid: overrides the clusters' own, when given.
    :returns: {section: {option: value}}, DEFAULT first.
    """
    default_type = (*catalog.follow_image_types,
                    *(tier.name for tier in catalog.tiers if tier.fallback))[0]
    sections = {'DEFAULT': {
        'enabled_backends': ','.join(tier.backend for tier in catalog.tiers
                                     if tier.rbd),
        'default_volume_type': default_type}}
    for tier in catalog.tiers:
        if tier.rbd is None:
            continue
        cluster = catalog.clusters[tier.rbd.cluster]
        section = {
            'volume_driver': 'cinder.volume.drivers.rbd.RBDDriver',
            'volume_backend_name': tier.backend,
            'rbd_pool': tier.rbd.pool,
            'rbd_ceph_conf': cluster.conf or default_conf,
            'rbd_user': cluster.cinder_user}
        uuid = secret_uuid or cluster.secret_uuid
        if uuid:
            section['rbd_secret_uuid'] = uuid
        sections[tier.backend] = section
    return sections


def cinder_conf(sections: collections.abc.Mapping[
        str, collections.abc.Mapping[str, str]]) -> str:
    """Sections as text that oslo.config reads back.

    A `$` is doubled, for oslo.config would substitute it.
    """
    parser = configparser.ConfigParser(interpolation=None,
                                       default_section='DEFAULT')
    for section, options in sections.items():
        if section != 'DEFAULT':
            parser.add_section(section)
        for option, value in options.items():
            parser.set(section, option, value.replace('$', '$$'))
    text = io.StringIO()
    parser.write(text)
    return text.getvalue().rstrip('\n') + '\n'


def caps_comments(catalog: catalogs.Catalog) -> str:
    """Comment lines on the cephx capabilities that the backends need."""
    lines = []
    for cluster in catalog.clusters_in_use:
        grants = desired.grants_of(catalog, cluster)
        caps = ' '.join(f"{daemon} '{', '.join(grants[daemon])}'"
                        for daemon in grants)
        lines.append(f'# client.{cluster.cinder_user} of Ceph cluster '
                     f'{cluster.name} needs (tier apply grants it): {caps}')
    return '\n'.join(lines) + '\n'
