# SPDX-License-Identifier: Apache-2.0
"""The configuration of the OpenStack services, as data.

Pure: a lab in, sections out. What a value is there for is said where it is
not plain from its name.
"""

import hashlib
import hmac

from lab import layout

Sections = dict[str, dict[str, object]]

REGION = 'lab'
#: Stable through changes of the machine's name, as volumes keep it for ever.
HOST = 'cinder-tiers-lab'
#: What Neutron calls the link to which guests are attached.
PHYSICAL_NETWORK = 'lab'


def database_url(lab: layout.Layout, name: str) -> str:
    """Return the SQLAlchemy URL of one of the lab's databases."""
    return (
        f'mysql+pymysql://cloud:{lab.passwords["database"]}'
        f'@127.0.0.1:{lab.port("mariadb")}/{name}?charset=utf8'
    )


def sections_of(lab: layout.Layout, service: str) -> Sections:
    """Return the sections of one configuration file.

    :param service: keystone, glance, cinder, placement, neutron, nova or
        nova-compute.
    """
    makers = {
        'keystone': _keystone,
        'glance': _glance,
        'cinder': _cinder,
        'placement': _placement,
        'neutron': _neutron,
        'nova': _nova,
        'nova-compute': _nova_compute,
    }
    return makers[service](lab)


def as_ini(sections: Sections) -> str:
    """Return sections in the syntax of oslo.config."""
    return '\n'.join(
        f'[{name}]\n'
        + ''.join(f'{key} = {value}\n' for key, value in values.items())
        for name, values in sections.items()
    )


def _transport(lab: layout.Layout) -> str:
    return (
        f'rabbit://cloud:{lab.passwords["messaging"]}@127.0.0.1:'
        f'{lab.port("rabbitmq")}/'
    )


def _service_user(lab: layout.Layout, user: str) -> dict[str, object]:
    return {
        'auth_type': 'password',
        'auth_url': lab.url('keystone', '/v3'),
        'username': user,
        'password': lab.passwords['service'],
        'project_name': 'service',
        'user_domain_id': 'default',
        'project_domain_id': 'default',
        'region_name': REGION,
    }


def _authtoken(lab: layout.Layout, user: str) -> dict[str, object]:
    return {
        **_service_user(lab, user),
        'www_authenticate_uri': lab.url('keystone', '/v3'),
        'service_token_roles': 'service',
        'service_token_roles_required': 'true',
    }


def _logging() -> dict[str, object]:
    # supervisord keeps what is written to standard error
    return {'use_stderr': 'true', 'debug': 'false'}


def _privsep(lab: layout.Layout, conf: str, *contexts: str) -> Sections:
    # root already: no sudo between
    command = (
        f'{lab.venv}/bin/privsep-helper --config-file {lab.etc}/{conf}.conf'
    )
    return {context: {'helper_command': command} for context in contexts}


def _state(lab: layout.Layout, name: str) -> str:
    folder = lab.root / 'state' / name
    (folder / 'lock').mkdir(parents=True, exist_ok=True)
    return str(folder)


def _keystone(lab: layout.Layout) -> Sections:
    keys = lab.root / 'state' / 'keystone'
    return {
        'DEFAULT': _logging(),
        'database': {'connection': database_url(lab, 'keystone')},
        # In place of a cloud's memcached: six times the tokens and ten times
        # the validations in a second. Keystone is one process here, and
        # forgets with each start.
        'cache': {'enabled': 'true', 'backend': 'dogpile.cache.memory_pickle'},
        'token': {'provider': 'fernet'},
        # each rehash of a service's password costs the guests their CPU
        'identity': {'password_hash_rounds': 4},
        'fernet_tokens': {'key_repository': keys / 'fernet-keys'},
        'credential': {'key_repository': keys / 'credential-keys'},
    }


def _glance(lab: layout.Layout) -> Sections:
    state = _state(lab, 'glance')
    return {
        'DEFAULT': {**_logging(), 'enabled_backends': 'rbd:rbd'},
        'database': {'connection': database_url(lab, 'glance')},
        'keystone_authtoken': _authtoken(lab, 'glance'),
        'paste_deploy': {
            'flavor': 'keystone',
            'config_file': lab.venv / 'etc/glance/glance-api-paste.ini',
        },
        'glance_store': {'default_backend': 'rbd'},
        'rbd': {
            'rbd_store_pool': 'images',
            'rbd_store_user': 'glance',
            'rbd_store_ceph_conf': lab.ceph_conf,
        },
        'os_glance_staging_store': {
            'filesystem_store_datadir': f'{state}/staging'
        },
        'os_glance_tasks_store': {
            'filesystem_store_datadir': f'{state}/tasks'
        },
        'oslo_concurrency': {'lock_path': f'{state}/lock'},
    }


def _cinder(lab: layout.Layout) -> Sections:
    state = _state(lab, 'cinder')
    return {
        'DEFAULT': {
            **_logging(),
            'auth_strategy': 'keystone',
            'host': HOST,
            'my_ip': '127.0.0.1',
            'transport_url': _transport(lab),
            'state_path': state,
            'api_paste_config': lab.cinder_api_paste,
            'resource_query_filters_file': lab.venv
            / 'etc/cinder/resource_filters.json',
            'rootwrap_config': lab.venv / 'etc/cinder/rootwrap.conf',
            'scheduler_default_filters': (
                'AvailabilityZoneFilter,CapacityFilter,CapabilitiesFilter,'
                'TierFilter'
            ),
            'scheduler_default_weighers': 'CapacityWeigher,TierWeigher',
            # a backend that is gone must not hold up the scheduler's start
            'scheduler_driver_init_wait_time': 10,
            # Keystone has to answer in that time, too, and each retry needs
            # two more tokens: with 10 s, volumes ended in error on a busy
            # machine.
            'glance_request_timeout': 60,
        },
        # volumes without an image may ask for a tier, too
        'cinder_tiers': {'metadata_key': 'tier'},
        'database': {'connection': database_url(lab, 'cinder')},
        'keystone_authtoken': _authtoken(lab, 'cinder'),
        # only services learn the locations of images
        'glance': _service_user(lab, 'cinder'),
        'nova': _service_user(lab, 'cinder'),
        'service_user': {
            **_service_user(lab, 'cinder'),
            'send_service_user_token': 'true',
        },
        'coordination': {'backend_url': f'file://{state}/coordination'},
        # tests listen to them; a policy of RabbitMQ bounds the queues
        'oslo_messaging_notifications': {'driver': 'messagingv2'},
        'oslo_concurrency': {'lock_path': f'{state}/lock'},
        **_privsep(lab, 'cinder', 'cinder_sys_admin', 'privsep_osbrick'),
    }


def _placement(lab: layout.Layout) -> Sections:
    return {
        'DEFAULT': _logging(),
        'api': {'auth_strategy': 'keystone'},
        'placement_database': {'connection': database_url(lab, 'placement')},
        'keystone_authtoken': _authtoken(lab, 'placement'),
    }


def _neutron(lab: layout.Layout) -> Sections:
    # Without a network of guests only the API, as Nova asks it for ports and
    # security groups.
    if lab.has_network:
        return _neutron_with_network(lab)
    return _neutron_api(lab)


def _neutron_api(lab: layout.Layout) -> Sections:
    state = _state(lab, 'neutron')
    return {
        'DEFAULT': {
            **_logging(),
            'core_plugin': 'ml2',
            'service_plugins': '',
            'auth_strategy': 'keystone',
            'state_path': state,
            'transport_url': _transport(lab),
            'api_paste_config': lab.venv / 'etc/neutron/api-paste.ini',
            'notify_nova_on_port_status_changes': 'false',
            'notify_nova_on_port_data_changes': 'false',
        },
        'database': {'connection': database_url(lab, 'neutron')},
        'keystone_authtoken': _authtoken(lab, 'neutron'),
        'ml2': {
            'type_drivers': 'local,flat',
            'tenant_network_types': 'local',
            'mechanism_drivers': '',
        },
        'oslo_concurrency': {'lock_path': f'{state}/lock'},
    }


def _neutron_with_network(lab: layout.Layout) -> Sections:
    """Return what the API and all agents of Neutron read."""
    api = _neutron_api(lab)
    return {
        **api,
        'DEFAULT': {
            **api['DEFAULT'],
            'host': HOST,
            # Nova waits for its ports
            'notify_nova_on_port_status_changes': 'true',
            'rpc_workers': 1,
            'rpc_state_report_workers': 0,
            # Neutron has drivers for Open vSwitch only
            'interface_driver': 'lab.openstack.macvlan.MacvlanInterfaceDriver',
            # no router leads to the metadata service
            'enable_isolated_metadata': 'true',
            'force_metadata': 'true',
            'metadata_workers': 0,
            'dnsmasq_config_file': lab.dnsmasq_conf,
            'nova_metadata_host': '127.0.0.1',
            'nova_metadata_port': lab.port('nova-metadata'),
            'metadata_proxy_shared_secret': _metadata_secret(lab),
        },
        'nova': {**_service_user(lab, 'nova'), 'endpoint_type': 'public'},
        # One network of the administrator's for all: projects can have none
        # of their own on a single link without VLANs.
        'ml2': {
            'type_drivers': 'flat',
            'tenant_network_types': '',
            'mechanism_drivers': 'macvtap',
        },
        'ml2_type_flat': {'flat_networks': PHYSICAL_NETWORK},
        'macvtap': {
            'physical_interface_mappings': (
                f'{PHYSICAL_NETWORK}:{lab.guest_link}'
            ),
        },
        # the agent knows no other
        'securitygroup': {'firewall_driver': 'noop'},
        # root already: no sudo between
        'agent': {'root_helper': ''},
        **_privsep(
            lab,
            'neutron',
            'privsep',
            'privsep_dhcp_release',
            'privsep_link',
            'privsep_namespace',
        ),
    }


def dnsmasq_options(lab: layout.Layout) -> str:
    """Return what dnsmasq reads besides the options that Neutron gives it."""
    # Another user could not read its files in the lab's folder again, which
    # it does for each new guest.
    return (
        'user=root\ngroup=root\n'
        f'log-facility={lab.log / "dnsmasq.log"}\nlog-dhcp\n'
    )


def _metadata_secret(lab: layout.Layout) -> str:
    """Return with what Neutron signs who asks for metadata."""
    return hmac.new(
        lab.passwords['service'].encode(), b'metadata', hashlib.sha256
    ).hexdigest()


def _nova_shared(lab: layout.Layout) -> Sections:
    state = _state(lab, 'nova')
    return {
        'DEFAULT': {
            **_logging(),
            'my_ip': '127.0.0.1',
            'host': HOST,
            'transport_url': _transport(lab),
            'state_path': state,
            'use_rootwrap_daemon': 'false',
            # the lab has one compute node
            'allow_resize_to_same_host': 'true',
        },
        'api': {'auth_strategy': 'keystone'},
        'keystone_authtoken': _authtoken(lab, 'nova'),
        'service_user': {
            **_service_user(lab, 'nova'),
            'send_service_user_token': 'true',
        },
        'keystone': _service_user(lab, 'nova'),
        'placement': {
            **_service_user(lab, 'placement'),
            'valid_interfaces': 'public',
        },
        'neutron': {
            **_service_user(lab, 'neutron'),
            'valid_interfaces': 'public',
        },
        'glance': {
            **_service_user(lab, 'glance'),
            'valid_interfaces': 'public',
        },
        'cinder': {
            **_service_user(lab, 'cinder'),
            'catalog_info': 'block-storage::publicURL',
            'os_region_name': REGION,
        },
        'oslo_concurrency': {'lock_path': f'{state}/lock'},
        'vnc': {'enabled': 'false'},
        'spice': {'enabled': 'false'},
    }


def _nova(lab: layout.Layout) -> Sections:
    shared = _nova_shared(lab)
    metadata = (
        {
            'service_metadata_proxy': 'true',
            'metadata_proxy_shared_secret': _metadata_secret(lab),
        }
        if lab.has_network
        else {}
    )
    return {
        **shared,
        'DEFAULT': {
            **shared['DEFAULT'],
            'osapi_compute_workers': 1,
        },
        'neutron': {**shared['neutron'], **metadata},
        'wsgi': {'api_paste_config': lab.venv / 'etc/nova/api-paste.ini'},
        'conductor': {'workers': 1},
        'scheduler': {'workers': 1},
        'api_database': {'connection': database_url(lab, 'nova_api')},
        'database': {'connection': database_url(lab, 'nova')},
        'filter_scheduler': {'track_instance_changes': 'false'},
    }


def _nova_compute(lab: layout.Layout) -> Sections:
    # No database sections here: nova-compute warns if it finds any.
    accelerator = lab.root / 'accelerator'
    instances = lab.root / 'instances'
    instances.mkdir(exist_ok=True)
    shared = _nova_shared(lab)
    return {
        **shared,
        'DEFAULT': {
            **shared['DEFAULT'],
            'compute_driver': 'libvirt.LibvirtDriver',
            'instances_path': instances,
            # without a network there is no other way for metadata
            'force_config_drive': 'false' if lab.has_network else 'true',
            'mkisofs_cmd': '/usr/bin/genisoimage',
            # guests wait for storage most of the time
            'cpu_allocation_ratio': 64,
            'ram_allocation_ratio': 2,
            'disk_allocation_ratio': 16,
            'reserved_host_memory_mb': 512,
            'heal_instance_info_cache_interval': -1,
        },
        'libvirt': {
            'virt_type': (
                'kvm'
                if accelerator.exists()
                and accelerator.read_text().startswith('kvm')
                else 'qemu'
            ),
            'cpu_mode': 'none',
            'connection_uri': lab.libvirt_uri,
            # translation buffer of an emulated guest, in MiB
            'tb_cache_size': 32,
            # librbd's cache would answer for the tier (ceph.io on QEMU)
            'disk_cachemodes': 'network=none',
            'rbd_user': 'cinder',
            'rbd_secret_uuid': lab.secret_uuid,
        },
        **_privsep(
            lab,
            'nova-compute',
            'nova_sys_admin',
            'privsep_osbrick',
            'vif_plug_ovs_privileged',
        ),
    }
