# SPDX-License-Identifier: Apache-2.0

"""What of other operations concerns no tier reaches Cinder byte for byte."""

import json

from cinder import objects
import ddt

from tests.unit.api import api_fixture
from tests.unit.api import pass_through_case

UUID = 'c0ffee00-0000-4000-8000-000000000000'
#: (path, how Cinder's own clients would not write the body)
NOTHING = tuple(
    (path, body)
    for path, bodies in {
        f'/volumes/{UUID}/action': (
            '{"os-extend":  {"new_size": 2}}',
            '{"os-retype": {}}',
            '{"os-retype": {"new_type": "plain"} }',
            '{"os-retype": {"new_type": "image-tier"} }',
            '{"os-retype": {"new_type": 7} }',
            '{"os-attach": null}',
            '{"os-retype": {"new_type": "image-tier"}, "os-extend": {}}',
        ),
        '/groups': (
            '{"group":  {"group_type": "a", "volume_types": ["plain"]}}',
            '{"group":  {"group_type": "a", "volume_types": []}}',
            '{"group":  {"volume_types": ["image-tier"]}}',
            '{"group":  {"volume_types": ["plain", "database"], '
            '"group_type": "a"}}',
        ),
        '/consistencygroups': (
            '{"consistencygroup":  {"volume_types": "plain,database"}}',
            '{"consistencygroup":  {"volume_types": ["image-tier"]}}',
            '{"consistencygroup":  {"volume_types": ""}}',
            '{"consistencygroup":  {"volume_types": null}}',
        ),
        f'/backups/{UUID}/restore': (
            '{"restore":  {}}',
            '{"restore":  null}',
            '{"restore":  []}',
            f'{{"restore":  {{"volume_id": "{UUID}"}}}}',
        ),
        f'/volume-transfers/{UUID}/accept': (
            '{"accept":  {"auth_key": "x"}}',
            '{"accept":  {}}',
        ),
        f'/os-volume-transfer/{UUID}/accept': (
            '{"accept":  {"auth_key": "x"}}',
            '{"accept":  {}}',
        ),
    }.items()
    for body in (
        *bodies,
        '',
        '[]',
        'null',
        '{}',
        '{"',
        '[' * 99999,
        '7',
        '\x00',
    )
)
OTHER_PATHS = (
    f'/volumes/{UUID}',
    f'/volumes/{UUID}/metadata',
    '/volumes//action',
    f'/volumes/{UUID}/action/x',
    f'/groups/{UUID}',
    f'/groups/{UUID}/action',
    '/groups/action',
    '/groups/detail',
    '/group_types',
    '/backups',
    f'/backups/{UUID}',
    f'/backups/{UUID}/action',
    '/backups//restore',
    f'/backups/{UUID}/export_record',
    '/volume-transfers',
    f'/volume-transfers/{UUID}',
    '/consistencygroups/create_from_src',
    f'/consistencygroups/{UUID}/update',
    '/types',
    '/attachments',
    '/snapshots',
    '/manageable_volumes',
)


@ddt.ddt
class OperationsTestCase(pass_through_case.PassThroughTestCase):
    @ddt.data(*NOTHING)
    @ddt.unpack
    def test_what_chooses_no_tier(self, path, body):
        data = body.encode()
        for prefix in ('', f'/{api_fixture.PROJECT}'):
            for version in (None, '3.71'):
                self.assert_untouched(
                    [data],
                    path=prefix + path,
                    length=str(len(data)),
                    version=version,
                )

    @ddt.data(*OTHER_PATHS)
    def test_other_paths(self, path):
        data = b'{"os-retype":  {"new_type": "image-tier"}}'
        for method in ('POST', 'PUT', 'GET'):
            self.assert_untouched(
                [data], path=path, method=method, length=str(len(data))
            )

    def test_what_exists_and_names_its_type(self):
        volume = self.api.add_volume(self.types['database'])
        backup = objects.Backup(
            context=self.cinder.admin,
            volume_id=volume.id,
            user_id='user',
            project_id=api_fixture.PROJECT,
            size=1,
            status='available',
        )
        backup.create()
        for path, document in (
            (
                f'/volumes/{volume.id}/action',
                {'os-retype': {'new_type': self.types['plain']}},
            ),
            (
                f'/backups/{backup.id}/restore',
                {'restore': {'volume_id': volume.id}},
            ),
        ):
            data = json.dumps(document, indent=1).encode()
            self.assert_untouched([data], path=path, length=str(len(data)))

    @ddt.data('plain', 'database', 'image-tier')
    def test_a_transfer_of_what_lies_on_no_private_tier(self, name):
        volume = self.api.add_volume(self.types[name])
        transfer = self.api.post(
            'volume-transfers',
            {'transfer': {'volume_id': volume.id}},
            version='3.55',
        ).json['transfer']
        data = json.dumps(
            {'accept': {'auth_key': transfer['auth_key']}}, indent=1
        ).encode()
        self.context = self.cinder.user(api_fixture.OTHER_PROJECT)
        for path in ('volume-transfers', 'os-volume-transfer'):
            self.assert_untouched(
                [data],
                path=f'/{path}/{transfer["id"]}/accept',
                length=str(len(data)),
            )
