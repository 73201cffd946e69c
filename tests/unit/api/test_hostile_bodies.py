# SPDX-License-Identifier: Apache-2.0

"""Values that no client of Cinder sends, at each place that the door reads.

Cinder's answer stands, and where Cinder fails on a text that is none, it is
400. Nothing of it is an error of the door, which an operator would look into.
"""

import json
import logging

from cinder import objects
import ddt
import fixtures

import tests
from tests.unit.api import api_fixture
from tests.unit.api import test_groups
from tests.unit.api import test_restores

UUID = 'c0ffee00-0000-4000-8000-000000000000'
#: Lone surrogates: JSON has them, Unicode has not.
NO_TEXT = ('\ud800', 'image-tier\udfff', 'a\ud800b', '\ud83d\ud83d', '\x00')
ODD = (
    *NO_TEXT,
    '',
    ' ',
    '\\u0000',
    '\u202e',
    '\U0001f4a3',
    'x' * 255,
    'x' * 256,
    'x' * 70000,
    UUID[:-1] + '\ud800',
    True,
    -1,
    10**4000,
    float('nan'),
    float('inf'),
    [],
    {},
    ['image-tier'],
    {'\ud800': '\ud800'},
    None,
)
#: As text, since Python would not write them.
BODIES = (
    '{"%(key)s": {"a": 1}, "%(key)s": "\\ud800"}',
    '{"%(key)s": ' + '9' * 5000 + '}',
    '{"%(key)s": NaN}',
    '{"%(key)s": [], "\\ud800": {}}',
    '{"\\ud800": {}}',
    '"\\ud800"',
)


class Errors(logging.Handler):
    """What the door logs as an error."""

    def __init__(self):
        super().__init__(logging.ERROR)
        self.lines = []

    def emit(self, line):
        if line.name.startswith('cinder_tiers'):
            self.lines.append(line.getMessage())


@ddt.ddt
class HostileBodiesTestCase(test_groups.GroupCase, test_restores.BackupCase):
    def setUp(self):
        super().setUp()
        self.api.take_messages(status='available')
        self.errors = Errors()
        # No other handler: most cannot write what is no text.
        self.useFixture(
            fixtures.MonkeyPatch('logging.root.handlers', [self.errors])
        )
        self.volume = self.api.add_volume(self.types['plain'])
        # Cinder waits a second for a volume.
        self.backup = self.add_backup(status='error')

    def places(self, value):
        """Each place with a value there: (name, path, version, body)."""
        volume = {'size': 1, 'volume_type': 'image-tier'}
        group = {'group_type': self.group_type, 'volume_types': ['image-tier']}
        action = f'volumes/{self.volume.id}/action'
        restore = f'backups/{self.backup.id}/restore'
        retype = {'new_type': 'image-tier', 'migration_policy': 'never'}
        for version, keys in (
            ('3.0', ('volume_type', 'imageRef', 'group_id', 'backup_id')),
            (
                '3.71',
                (
                    'volume_type',
                    'imageRef',
                    'image_id',
                    'availability_zone',
                    'group_id',
                    'consistencygroup_id',
                    'snapshot_id',
                    'source_volid',
                    'backup_id',
                    'name',
                    'description',
                    'metadata',
                    'unknown',
                ),
            ),
        ):
            for key in keys:
                yield (
                    key,
                    'volumes',
                    version,
                    {'volume': volume | {key: value}},
                )
        yield (
            'metadata value',
            'volumes',
            version,
            {'volume': volume | {'metadata': {'a': value}}},
        )
        yield (
            'hint',
            'volumes',
            version,
            {
                'volume': volume,
                'OS-SCH-HNT:scheduler_hints': {'a': value},
            },
        )
        for key in retype:
            yield key, action, version, {'os-retype': retype | {key: value}}
        for key in ('name', 'volume_id'):
            yield key, restore, version, {'restore': {key: value}}
        yield (
            'consistency group types',
            'consistencygroups',
            version,
            {'consistencygroup': {'name': 'a', 'volume_types': value}},
        )
        for key in (*group, 'name', 'availability_zone'):
            yield key, 'groups', '3.71', {'group': group | {key: value}}
        yield (
            'one of the group types',
            'groups',
            '3.71',
            {'group': group | {'volume_types': ['image-tier', value]}},
        )
        yield (
            'auth_key',
            f'volume-transfers/{UUID}/accept',
            '3.71',
            {'accept': {'auth_key': value}},
        )

    def send(self, path, version, data, **request):
        answer = self.api.request(
            f'/v3/{api_fixture.PROJECT}/{path}',
            content_type='application/json',
            version=version,
            body=data,
            **request,
        )
        if answer.status == 202:
            self.reset()
        return answer

    def reset(self):
        for one in (
            *objects.VolumeList.get_all(self.cinder.admin),
            *objects.GroupList.get_all(self.cinder.admin),
        ):
            if one.id not in (self.volume.id, self.source.id):
                one.destroy()
        self.volume.update({'status': 'available'})
        self.volume.save()

    def assert_right(self, name, path, version, data):
        ours, theirs = (
            self.send(path, version, data, has_door=has_door)
            for has_door in (True, False)
        )
        what = ascii((name, path, version, data[:80], ours.body[:200]))
        if ours.status != theirs.status:
            # A type that follows the image says more than another, and the
            # tier of an image that is none is not asked for.
            self.assertIn(
                (theirs.status, ours.status),
                ((500, 400), (500, 404), (400, 404)),
                what,
            )
        self.assertEqual([], self.errors.lines, what)

    @ddt.data(*range(len(ODD)))
    def test_an_odd_value_at_each_place(self, number):
        places = tuple(self.places(ODD[number]))
        for name, path, version, document in tests.share(places, number):
            self.assert_right(
                name, path, version, json.dumps(document).encode()
            )

    def test_a_type_that_is_no_text_is_400(self):
        for value in NO_TEXT[:-1]:
            for name, path, version, document in self.places(value):
                if name in (
                    'volume_type',
                    'new_type',
                    'one of the group types',
                    'consistency group types',
                ):
                    answer = self.send(
                        path, version, json.dumps(document).encode()
                    )
                    self.assertEqual(400, answer.status, (name, answer.body))
                    self.assertIn(b'Unicode', answer.body)
        self.assertEqual([], self.errors.lines)

    @ddt.data(*BODIES)
    def test_an_odd_body(self, text):
        for key, path in (
            ('volume', 'volumes'),
            ('os-retype', f'volumes/{self.volume.id}/action'),
            ('restore', f'backups/{self.backup.id}/restore'),
            ('group', 'groups'),
            ('consistencygroup', 'consistencygroups'),
            ('accept', f'volume-transfers/{UUID}/accept'),
        ):
            data = (text % {'key': key}).encode()
            self.assert_right(key, path, '3.71', data)

    def test_each_depth_of_nesting(self):
        """At some Python can read a body that it cannot write."""
        for depth in (1, 99, *range(840, 1001, 4), 5000):
            nested = b'[' * depth + b']' * depth
            for path, data in (
                (
                    'volumes',
                    b'{"volume": {"size": 1, "volume_type": "image-tier", '
                    b'"x": ' + nested + b'}}',
                ),
                (
                    f'volumes/{self.volume.id}/action',
                    b'{"os-retype": {"new_type": "image-tier"}, "x": '
                    + nested
                    + b'}',
                ),
            ):
                self.send(path, '3.71', data)
                self.assertEqual([], self.errors.lines, (depth, path))
