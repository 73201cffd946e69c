# SPDX-License-Identifier: Apache-2.0

import dataclasses

import ddt
import jinja2
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import backend_config
from cinder_tiers.domain.plan import owner_fragments
from cinder_tiers.domain.validation import warnings
from tests.unit.domain import catalogs as given

#: Of a libvirt secret.
UUID = '11111111-2222-3333-4444-555555555555'


HYBRID = given.rbd(
    pool='hybrid', device_class='hdd', primary_device_class='ssd'
)


def coded(**settings):
    """A catalog with one erasure coded tier."""
    return given.of(
        given.tier(
            'archive',
            rbd=given.rbd(
                pool='tier-archive',
                device_class='hdd',
                protection=catalogs.ErasureCoded(
                    **{'k': 4, 'm': 2, **settings}
                ),
            ),
        )
    )


class RookTestCase(testtools.TestCase):
    def resources(self, catalog):
        (fragment,) = owner_fragments.rook(catalog)
        return {one['metadata']['name']: one for one in fragment.documents}

    def notes(self, catalog):
        (fragment,) = owner_fragments.rook(catalog)
        return '\n'.join(fragment.notes)

    def test_a_replicated_pool(self):
        catalog = given.of(
            given.tier(
                rbd=given.rbd(
                    failure_domain='rack',
                    crush_root='fast',
                    options={
                        'compression_mode': 'aggressive',
                        'noscrub': True,
                        'quota_max_bytes': 10**12,
                        'quota_max_objects': 5,
                    },
                )
            )
        )
        self.assertEqual(
            {
                'tier-database': {
                    'apiVersion': 'ceph.rook.io/v1',
                    'kind': 'CephBlockPool',
                    'metadata': {
                        'name': 'tier-database',
                        'namespace': 'rook-ceph',
                    },
                    'spec': {
                        'failureDomain': 'rack',
                        'crushRoot': 'fast',
                        'deviceClass': 'ssd',
                        'replicated': {
                            'size': 3,
                            'requireSafeReplicaSize': True,
                        },
                        'parameters': {
                            'min_size': '2',
                            'pg_num': '32',
                            'pg_autoscale_mode': 'off',
                            'compression_mode': 'aggressive',
                            'noscrub': 'true',
                        },
                        'quotas': {
                            'maxSize': '1000000000000',
                            'maxObjects': 5,
                        },
                    },
                }
            },
            self.resources(catalog),
        )

    def test_what_is_left_to_ceph_is_left_to_ceph(self):
        catalog = given.of(
            given.tier(rbd=given.rbd(device_class=None, pg_num=None))
        )
        self.assertEqual(
            {
                'failureDomain': 'host',
                'replicated': {'size': 3, 'requireSafeReplicaSize': True},
                'parameters': {'min_size': '2'},
            },
            self.resources(catalog)['tier-database']['spec'],
        )

    def test_an_erasure_coded_tier_has_two_pools(self):
        found = self.resources(
            coded(
                plugin='isa',
                stripe_unit_bytes=16384,
                num_failure_domains=3,
                osds_per_failure_domain=2,
            )
        )
        self.assertEqual(['tier-archive-data', 'tier-archive'], list(found))
        self.assertEqual(
            {
                'dataChunks': 4,
                'codingChunks': 2,
                'algorithm': 'isa',
                'stripeUnit': '16Ki',
                'crushNumFailureDomains': 3,
                'crushOSDsPerFailureDomain': 2,
            },
            found['tier-archive-data']['spec']['erasureCoded'],
        )
        self.assertEqual(
            3, found['tier-archive']['spec']['replicated']['size']
        )

    def test_a_pool_is_never_less_safe_than_apply_makes_it(self):
        # Ceph would make it 1 and 4.
        two = given.of(
            given.tier(rbd=given.rbd(protection=catalogs.Replicated(size=2)))
        )
        for catalog, name, least in (
            (two, 'tier-database', '2'),
            (coded(), 'tier-archive-data', '5'),
        ):
            parameters = self.resources(catalog)[name]['spec']['parameters']
            self.assertEqual(least, parameters['min_size'])

    def test_a_single_copy_says_so(self):
        catalog = given.of(
            given.tier(
                rbd=given.rbd(
                    protection=catalogs.Replicated(
                        size=1, min_size=1, single_copy=True
                    )
                )
            )
        )
        self.assertEqual(
            {'size': 1, 'requireSafeReplicaSize': False},
            self.resources(catalog)['tier-database']['spec']['replicated'],
        )

    def test_what_rook_cannot_have_is_said(self):
        self.assertIn(
            'no object named Fast_1',
            self.notes(given.of(given.tier(rbd=given.rbd(pool='Fast_1')))),
        )
        cached = given.of(given.tier(rbd=given.rbd(cache=given.cache())))
        self.assertIn('no cache tiers', self.notes(cached))
        self.assertEqual(['tier-database'], list(self.resources(cached)))
        for protection in ({'technique': 'cauchy'}, {'plugin': 'clay'}):
            self.assertIn(
                'not be as declared', self.notes(coded(**protection))
            )
        plain = self.notes(given.of(given.tier()))
        for text in ('no object named', 'cache', 'not be as declared'):
            self.assertNotIn(text, plain)

    def test_a_pool_of_two_classes_is_hybrid(self):
        spec = self.resources(given.of(given.tier(rbd=HYBRID)))['hybrid'][
            'spec'
        ]
        self.assertEqual(
            {'primaryDeviceClass': 'ssd', 'secondaryDeviceClass': 'hdd'},
            spec['replicated']['hybridStorage'],
        )
        self.assertEqual('default', spec['crushRoot'])

    def test_copies_that_share_failure_domains(self):
        for size, each, is_said in ((4, 2, False), (6, 3, True)):
            catalog = given.of(
                given.tier(
                    rbd=given.rbd(
                        failure_domain='zone',
                        protection=catalogs.Replicated(
                            size=size,
                            replicas_per_failure_domain=each,
                            sub_failure_domain='host',
                        ),
                    )
                )
            )
            spec = self.resources(catalog)['tier-database']['spec']
            self.assertEqual(
                (
                    'zone',
                    {
                        'size': size,
                        'requireSafeReplicaSize': True,
                        'replicasPerFailureDomain': each,
                        'subFailureDomain': 'host',
                    },
                ),
                (spec['failureDomain'], spec['replicated']),
            )
            self.assertEqual(
                is_said,
                'a CRUSH rule for 2 copies in each' in self.notes(catalog),
            )

    def test_a_stripe_unit_that_rook_refuses_is_left_out_and_said(self):
        for size_bytes, expected in (
            (4096, '4Ki'),
            (8192, None),
            (2**18, '256Ki'),
            (2**20, '1Mi'),
            (2**21, None),
        ):
            catalog = coded(stripe_unit_bytes=size_bytes)
            pool = self.resources(catalog)['tier-archive-data']
            self.assertEqual(
                expected, pool['spec']['erasureCoded'].get('stripeUnit')
            )
            self.assertEqual(
                expected is None,
                f'no stripe unit of {size_bytes} bytes' in self.notes(catalog),
            )


class CephadmTestCase(testtools.TestCase):
    def specifications(self, *tiers):
        (fragment,) = owner_fragments.cephadm(given.of(*tiers))
        return {
            one['spec']['crush_device_class']: one
            for one in fragment.documents
        }

    def test_nothing_is_made_of_it_before_somebody_has_looked(self):
        found = self.specifications(*given.three_tiers())
        self.assertEqual(
            {'ssd': True, 'hdd': True},
            {name: one['unmanaged'] for name, one in found.items()},
        )

    def test_disks_are_chosen_by_what_is_required(self):
        required = catalogs.Requirements(rotational=True, fast_db=True)
        found = self.specifications(
            given.tier(
                rbd=given.rbd(device_class='bulk', osd_requirements=required)
            )
        )
        self.assertEqual(
            {
                'objectstore': 'bluestore',
                'crush_device_class': 'bulk',
                'data_devices': {'rotational': 1},
                'db_devices': {'rotational': 0},
            },
            found['bulk']['spec'],
        )

    def test_else_by_the_name_of_the_class(self):
        found = self.specifications(*given.three_tiers())
        self.assertEqual(
            {'ssd': 0, 'hdd': 1},
            {
                name: one['spec']['data_devices']['rotational']
                for name, one in found.items()
            },
        )

    def test_a_log_lies_with_the_database(self):
        found = self.specifications(
            given.tier(
                rbd=given.rbd(
                    osd_requirements=catalogs.Requirements(fast_wal=True)
                )
            )
        )
        self.assertEqual(
            {'rotational': 0}, found['ssd']['spec']['wal_devices']
        )
        self.assertNotIn('db_devices', found['ssd']['spec'])

    def test_the_class_of_the_first_copy_has_disks_as_well(self):
        found = self.specifications(given.tier(rbd=HYBRID))
        self.assertEqual({'ssd', 'hdd'}, set(found))

    def test_what_cephadm_cannot_give_is_said(self):
        required = catalogs.Requirements(
            rotational=True, io_scheduler=('none',), alloc_size_bytes=4096
        )
        (fragment,) = owner_fragments.cephadm(
            given.of(given.tier(rbd=given.rbd(osd_requirements=required)))
        )
        self.assertIn(
            'declare under alloc_size, io_scheduler', ' '.join(fragment.notes)
        )


class SecretsTestCase(testtools.TestCase):
    """A libvirt secret holds the key of one cluster."""

    def setUp(self):
        super().setUp()
        self.catalog = dataclasses.replace(
            given.of(
                given.tier('a'),
                given.tier('b', rbd=given.rbd(cluster='two', pool='b')),
            ),
            clusters={
                name: catalogs.Cluster(name=name, cinder_user=f'c-{name}')
                for name in ('ceph', 'two')
            },
        )

    def with_secrets(self, **secrets):
        return dataclasses.replace(
            self.catalog,
            clusters={
                name: dataclasses.replace(
                    cluster, secret_uuid=secrets.get(name)
                )
                for name, cluster in self.catalog.clusters.items()
            },
        )

    def sections(self, catalog, secret_uuid):
        return {
            name: section.get('rbd_secret_uuid')
            for name, section in backend_config.backends(
                catalog, default_conf='x', secret_uuid=secret_uuid
            ).items()
        }

    def test_one_is_not_given_to_two_clusters(self):
        problem = self.assertRaises(
            errors.ProblemsFound, self.sections, self.catalog, UUID
        )
        self.assertIn('for clusters ceph, two', str(problem))

    def test_it_is_that_of_the_only_cluster_without(self):
        self.assertEqual(
            {'DEFAULT': None, 'tier-a': UUID, 'tier-b': 'own'},
            self.sections(self.with_secrets(two='own'), UUID),
        )

    def test_nova_is_not_said_to_serve_two_clusters_with_one(self):
        said = backend_config.service_comments(self.catalog, secret_uuid=None)
        self.assertNotIn('nova.conf its UUID', said)
        self.assertIn('cannot serve the 2 clusters without one', said)

    def test_openstack_ansible_gives_its_own_to_one_cluster_only(self):
        hosts, _ = owner_fragments.openstack_ansible(self.catalog)
        backends = hosts.documents[0]['container_vars']['cinder_backends']
        self.assertNotIn('rbd_secret_uuid', backends['tier-a'])
        self.assertIn('clusters ceph, two need a secret', str(hosts.notes))

    def test_kolla_ansible_has_one_for_all(self):
        globals_, *_ = owner_fragments.kolla_ansible(
            self.with_secrets(two='b')
        )
        self.assertIn('clusters ceph, two cannot all be', str(globals_.notes))

    def test_two_clusters_with_one_are_warned_of(self):
        for secrets, count in (
            ({'ceph': 'aa', 'two': 'AA'}, 1),
            ({'ceph': 'aa', 'two': 'bb'}, 0),
            ({}, 0),
        ):
            found = [
                one
                for one in warnings.check(self.with_secrets(**secrets))
                if one.rule == 'shared-secret'
            ]
            self.assertEqual(count, len(found))


#: Each key of the pool of a tier, with another value than `given.rbd` has.
KEYS = {
    'pool': 'other',
    'device_class': 'nvme',
    'primary_device_class': 'nvme',
    'crush_root': 'other',
    'protection': catalogs.Replicated(size=2),
    'failure_domain': 'rack',
    'pg_num': 64,
    'options': {'quota_max_objects': 7},
    'osd_options': {'osd_max_scrubs': 2},
    'primary_affinity': 0.5,
    'osd_requirements': catalogs.Requirements(rotational=True),
    'rbd_options': {'rbd_cache': True},
    'cache': given.cache(),
}
CODED_KEYS = {
    'k': 5,
    'm': 3,
    'min_size': 6,
    'plugin': 'isa',
    'technique': 'cauchy',
    'stripe_unit_bytes': 8192,
    'num_failure_domains': 3,
}
#: Of each owner, keys that it has nothing to do with: of pools and clusters
#: that apply makes, or that are where and how cinder.conf says.
NOT_THEIRS = {
    'rook': {'cluster', 'data_pool_name', 'unprotected_writes'},
    'cephadm': {
        *(set(KEYS) - {'device_class', 'primary_device_class'}),
        *CODED_KEYS,
    }
    - {'osd_requirements'},
    'kolla-ansible': {*(set(KEYS) - {'pool'}), *CODED_KEYS},
    'openstack-ansible': {*(set(KEYS) - {'pool'}), *CODED_KEYS},
}
OWNERS = {
    'rook': owner_fragments.rook,
    'cephadm': owner_fragments.cephadm,
    'kolla-ansible': owner_fragments.kolla_ansible,
    'openstack-ansible': owner_fragments.openstack_ansible,
}


@ddt.ddt
class EachKeyTestCase(testtools.TestCase):
    """Each key of a pool is in the fragment of its owner, or is said."""

    def test_the_keys_are_all_that_there_are(self):
        self.assertEqual(
            set(KEYS) | {'cluster', 'data_pool_name'},
            {field.name for field in dataclasses.fields(catalogs.RbdPool)},
        )
        self.assertEqual(
            set(CODED_KEYS)
            | {'unprotected_writes', 'osds_per_failure_domain'},
            {
                field.name
                for field in dataclasses.fields(catalogs.ErasureCoded)
            },
        )

    @ddt.data(*sorted({(owner, key) for owner in OWNERS for key in KEYS}))
    @ddt.unpack
    def test_a_key_of_a_pool(self, owner, key):
        make = OWNERS[owner]
        before = make(given.of(given.tier(rbd=given.rbd())))
        after = make(given.of(given.tier(rbd=given.rbd(**{key: KEYS[key]}))))
        self.assertEqual(key in NOT_THEIRS[owner], before == after)

    @ddt.data(*sorted(CODED_KEYS))
    def test_a_key_of_chunks(self, key):
        more = (
            {'osds_per_failure_domain': 2}
            if key == 'num_failure_domains'
            else {}
        )
        for owner, make in OWNERS.items():
            self.assertEqual(
                key in NOT_THEIRS[owner],
                make(coded())
                == make(coded(**{'k': 4, key: CODED_KEYS[key], **more})),
                owner,
            )

    def test_the_zone_of_a_type_is_that_of_its_backend(self):
        specs = {'RESKEY:availability_zones': 'north'}
        catalog = given.of(given.tier(extra_specs=specs))
        globals_, *_ = owner_fragments.kolla_ansible(catalog)
        (backend,) = globals_.documents[0]['cinder_ceph_backends']
        self.assertEqual('north', backend['availability_zone'])
        sections = backend_config.backends(
            catalog, default_conf='x', secret_uuid=None
        )
        self.assertEqual(
            'north', sections['tier-database']['backend_availability_zone']
        )


class KollaAnsibleTestCase(testtools.TestCase):
    def test_backends_have_what_the_template_of_kolla_reads(self):
        catalog = given.of(
            *given.three_tiers(), conf='/etc/ceph/fast.conf', secret_uuid=UUID
        )
        globals_, conf = owner_fragments.kolla_ansible(catalog)
        (document,) = globals_.documents
        self.assertEqual(
            [
                {
                    'name': f'tier-{name}',
                    'cluster': 'fast',
                    'user': 'cinder',
                    'pool': f'tier-{name}',
                    'enabled': '{{ cinder_backend_ceph | bool }}',
                }
                for name in ('database', 'general', 'archive')
            ],
            document['cinder_ceph_backends'],
        )
        # To paste it would move backups to another cluster.
        self.assertNotIn('cinder_backup_backend_ceph_name', document)
        self.assertIn('fast.client.cinder.keyring', '\n'.join(globals_.notes))
        self.assertIn(UUID, '\n'.join(globals_.notes))
        # kolla-ansible copies the keyring of each backend for cinder-backup.
        self.assertIn(
            '/etc/kolla/config/cinder/cinder-backup/',
            '\n'.join(globals_.notes),
        )
        self.assertEqual(
            ({'DEFAULT': {'default_volume_type': 'image-tier'}},),
            conf.documents,
        )

    def test_backups_are_said_to_stay_in_their_cluster(self):
        globals_, _ = owner_fragments.kolla_ansible(
            given.of(*given.three_tiers())
        )
        [said] = [
            note
            for note in globals_.notes
            if note.startswith('cinder_backup_backend_ceph_name')
        ]
        self.assertIn('rbd-1', said)

    def test_a_backend_that_is_there_is_not_made_again(self):
        catalog = given.of(
            given.tier(fallback=True, backend_name='rbd-1'),
            follow_image_types=(),
        )
        (conf,) = owner_fragments.kolla_ansible(catalog)
        self.assertIsInstance(conf, owner_fragments.IniFragment)


class OpenStackAnsibleTestCase(testtools.TestCase):
    def test_no_volume_type_is_made_for_a_backend(self):
        for tiers in (given.three_tiers(), [given.other_tier()]):
            *_, variables = owner_fragments.openstack_ansible(given.of(*tiers))
            (document,) = variables.documents
            self.assertIs(False, document['cinder_manage_volume_types'])

    def test_backends_are_sections_of_cinder_conf(self):
        hosts, variables = owner_fragments.openstack_ansible(
            given.of(*given.three_tiers(), secret_uuid=UUID)
        )
        backends = dict(
            hosts.documents[0]['container_vars']['cinder_backends']
        )
        self.assertEqual(
            'cinder_volume', backends.pop('limit_container_types')
        )
        self.assertEqual(
            {
                'volume_driver': 'cinder.volume.drivers.rbd.RBDDriver',
                'volume_backend_name': 'tier-archive',
                'rbd_pool': 'tier-archive',
                'rbd_ceph_conf': '/etc/ceph/ceph.conf',
                'rbd_user': 'cinder',
                'rbd_secret_uuid': UUID,
            },
            backends['tier-archive'],
        )
        self.assertEqual(3, len(backends))
        self.assertEqual(
            'image-tier',
            variables.documents[0]['cinder_default_volume_type'],
        )

    def test_a_secret_without_a_uuid_is_that_of_the_cloud(self):
        hosts, _ = owner_fragments.openstack_ansible(given.of(given.tier()))
        backends = hosts.documents[0]['container_vars']['cinder_backends']
        self.assertEqual(
            '{{ cinder_ceph_client_uuid }}',
            backends['tier-database']['rbd_secret_uuid'],
        )

    def test_ansible_and_oslo_config_leave_names_as_they_are(self):
        catalog = given.of(given.tier(rbd=given.rbd(pool='{{ a }}$b')))
        hosts, _ = owner_fragments.openstack_ansible(catalog)
        backends = hosts.documents[0]['container_vars']['cinder_backends']
        (globals_,) = owner_fragments.kolla_ansible(catalog)
        (backend,) = globals_.documents[0]['cinder_ceph_backends']
        for text in (backends['tier-database']['rbd_pool'], backend['pool']):
            self.assertEqual('{{ a }}$$b', rendered(text))


class DefaultTypeTestCase(testtools.TestCase):
    """It comes with what is pasted first, and must be set last."""

    def test_it_is_said_to_be_the_last_step(self):
        catalog = given.of(*given.three_tiers())
        for fragments in (
            owner_fragments.kolla_ansible,
            owner_fragments.openstack_ansible,
        ):
            said = ' '.join(fragments(catalog)[-1].notes)
            self.assertIn('last step of the installation', said)

    def test_without_a_default_type_nothing_is_said_of_it(self):
        catalog = given.of(given.tier(fallback=True), follow_image_types=())
        for fragments in (
            owner_fragments.kolla_ansible,
            owner_fragments.openstack_ansible,
        ):
            said = ' '.join(
                note for one in fragments(catalog) for note in one.notes
            )
            self.assertNotIn('last step', said)


#: What an author might write who is not the deployer.
HOSTILE = (
    '{{ run() }}',
    '{% set x = run() %}',
    '{# x #}',
    '{% endraw %}{{ run() }}',
    "{{ '{{' }}{{ run() }}",
    '{{{ run() }}}',
    '{%- raw %}{{ run() }}{%- endraw %}',
)


def rendered(text):
    """What a template becomes; one that runs something fails."""
    return (
        jinja2.Environment(undefined=jinja2.StrictUndefined)
        .from_string(text)
        .render()
    )


@ddt.ddt
class HostileAuthorTestCase(testtools.TestCase):
    """Nothing of a tiers file is a template for Ansible."""

    @ddt.data(*HOSTILE)
    def test_the_path_of_a_configuration_file(self, evil):
        catalog = given.of(given.tier(), conf=f'/etc/{evil}.conf')
        hosts, _ = owner_fragments.openstack_ansible(catalog)
        backends = hosts.documents[0]['container_vars']['cinder_backends']
        self.assertEqual(
            f'/etc/{evil}.conf',
            rendered(backends['tier-database']['rbd_ceph_conf']),
        )
        (globals_,) = owner_fragments.kolla_ansible(catalog)
        (backend,) = globals_.documents[0]['cinder_ceph_backends']
        self.assertEqual(evil, rendered(backend['cluster']))

    @ddt.data(*HOSTILE)
    def test_the_name_of_a_type(self, evil):
        catalog = given.of(
            given.tier('general', fallback=True), follow_image_types=(evil,)
        )
        _, variables = owner_fragments.openstack_ansible(catalog)
        self.assertEqual(
            evil,
            rendered(variables.documents[0]['cinder_default_volume_type']),
        )
        _, default = owner_fragments.kolla_ansible(catalog)
        text = backend_config.cinder_conf(default.documents[0])
        self.assertEqual(
            f'[DEFAULT]\ndefault_volume_type = {evil}', rendered(text)
        )
