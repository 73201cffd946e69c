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
"""Reads from the OSDs themselves what options they use. Writes nothing.

The configuration of the monitors says what OSDs were told; this asks each
running OSD of a device class what it made of that.
"""

import errno

from cinder_tiers.domain import catalog as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain import osd_options
from cinder_tiers.domain import state
from cinder_tiers.observe import ceph_session

# A command to an OSD that is down.
_DOWN = (errno.ENXIO, errno.ETIMEDOUT, errno.EAGAIN)
_OP_QUEUE = 'osd_op_queue'
_NO_OPTION = (errno.ENOENT, errno.EINVAL)


def observe(session: ceph_session.Session, catalog: catalogs.Catalog,
            ) -> dict[str, dict]:
    """Options of OSDs, as far as the catalog declares any.

    :returns: `class_options` and `option_schemas` of `state.CephState`.
    :raises errors.TiersError: when Ceph does not answer or refuses.
    """
    declared: dict[str, set[str]] = {}
    for tier in catalog.tiers_of(session.cluster.name):
        if tier.rbd and tier.rbd.osd_options:
            declared.setdefault(tier.rbd.device_class, set()).update(
                tier.rbd.osd_options)
    schemas = schemas_of(session, set().union(*declared.values()))
    return {
        'option_schemas': schemas,
        'class_options': {
            device_class: in_effect(session, device_class, {
                name: schemas[name] for name in names & schemas.keys()})
            for device_class, names in declared.items()}}


def of_class(session: ceph_session.Session,
             device_class: str) -> state.OsdOptions:
    """The options that the monitors have for a device class.

    :returns: their values in effect, not those of the monitors.
    :raises errors.TiersError: when Ceph does not answer or refuses.
    """
    names = {entry['name'] for entry in session.command('config dump')
             if entry['section'] == 'osd'
             and entry['mask'] == f'class:{device_class}'}
    return in_effect(session, device_class, schemas_of(session, names))


def schemas_of(session: ceph_session.Session,
               names: set[str]) -> dict[str, osd_options.Schema]:
    """{option: schema} of the options that the cluster knows.

    :raises errors.TiersError: when Ceph does not answer or refuses.
    """
    found = {}
    for name in sorted(names):
        try:
            told = session.command('config help', key=name)
        except ceph_session.CommandFailed as error:
            if error.errno in _NO_OPTION:
                continue
            raise
        found[name] = parse_schema(told)
    return found


def parse_schema(told: dict) -> osd_options.Schema:
    """An option of `config help`."""
    default = told.get('daemon_default', '')
    if default in ('', None):
        default = told['default']
    return osd_options.Schema(
        name=told['name'], kind=told['type'],
        words=tuple(told.get('enum_values', ())),
        default=_text(default), at_runtime=told['can_update_at_runtime'])


def in_effect(session: ceph_session.Session, device_class: str,
              schemas: dict[str, osd_options.Schema]) -> state.OsdOptions:
    """Options as the running OSDs of a device class use them.

    :param schemas: of the options in question.
    :raises errors.Unreachable: when no OSD of the class answers.
    :raises errors.TiersError: when Ceph does not answer or refuses.
    """
    if not schemas:
        return state.OsdOptions(name=device_class, values={})
    diffs = {}
    for osd_id in session.command('osd crush class ls-osd',
                                  class_=device_class):
        try:
            diffs[osd_id] = session.tell(osd_id, 'config diff')['diff']
        except ceph_session.CommandFailed as error:
            if error.errno not in _DOWN:
                raise
    if not diffs:
        raise errors.Unreachable(
            f'no {device_class} OSD of Ceph cluster '
            f'{session.cluster.name!r} answers; see "ceph osd tree"')
    queue = schemas_of(session, {_OP_QUEUE})[_OP_QUEUE].default
    values, reasons = {}, {}
    for name, schema in schemas.items():
        values[name] = osd_options.shown({
            osd_id: _value(schema, diff) for osd_id, diff in diffs.items()})
        reasons[name] = _reason(name, diffs, queue)
    return state.OsdOptions(name=device_class, values=values,
                            reasons=reasons)


def _value(schema: osd_options.Schema, diff: dict) -> str:
    layers = diff.get(schema.name)
    text = schema.default if layers is None else _text(layers['final'])
    try:
        return osd_options.normal(schema, text)
    except ValueError:  # whatever it is, it is not what is wanted
        return text


def _reason(name: str, diffs: dict[int, dict], default_queue: str) -> str:
    """Of the first OSD that tells the most, by id.

    :param default_queue: osd_op_queue of an OSD that was told no other.
    """
    told = []
    for _, diff in sorted(diffs.items()):
        layers = {layer: value for layer, value in diff.get(name, {}).items()
                  if layer not in ('default', 'final')}
        told.append((len(layers), layers, diff))
    _, layers, diff = max(told, key=lambda one: one[0])
    queue = _text(diff.get(_OP_QUEUE, {}).get('final', default_queue))
    return osd_options.reason(layers, op_queue=queue)


def _text(value: object) -> str:
    """A JSON value as Ceph writes it in text."""
    return str(value).lower() if isinstance(value, bool) else str(value)
