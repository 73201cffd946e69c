# SPDX-License-Identifier: Apache-2.0
"""The configuration files of the OpenStack services, below ``etc``.

What is in them comes from ``service_conf``.
"""

import configparser
import pathlib

from lab import layout
from lab.openstack import api_paste
from lab.openstack import service_conf
from lab import private_file


def write(lab: layout.Layout) -> None:
    """Write the configuration files of all services below ``etc``.

    :raises lab.openstack.api_paste.UnexpectedPipeline: Cinder's
        api-paste.ini has no place for the filter.
    """
    for service in (
        'keystone',
        'glance',
        'cinder',
        'placement',
        'neutron',
        'nova',
        'nova-compute',
    ):
        private_file.write(
            path(lab, service),
            service_conf.as_ini(service_conf.sections_of(lab, service)),
        )
    private_file.write(lab.dnsmasq_conf, service_conf.dnsmasq_options(lab))
    stock = lab.venv / 'etc' / 'cinder' / 'api-paste.ini'
    private_file.write(
        lab.cinder_api_paste,
        api_paste.add_filter(stock.read_text(), str(stock)),
    )
    # Services that take a folder find their paste file beside their conf.
    for service, paste in (
        ('glance', 'glance-api-paste.ini'),
        ('nova', 'api-paste.ini'),
        ('neutron', 'api-paste.ini'),
    ):
        folder = lab.etc / service
        folder.mkdir(exist_ok=True)
        for name, target in (
            (paste, lab.venv / 'etc' / service / paste),
            (_conf_name(service), path(lab, service)),
        ):
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(target)


def path(lab: layout.Layout, service: str) -> pathlib.Path:
    """Return the configuration file of a service."""
    return lab.etc / _conf_name(service)


def read_by(lab: layout.Layout, service: str) -> list[pathlib.Path]:
    """Return the files that a service reads, in the order in which it does."""
    files = [path(lab, service)]
    if service == 'cinder':
        files += [
            lab.cinder_backends,
            *sorted(lab.cinder_overrides.glob('*.conf')),
        ]
    return files


def arguments(lab: layout.Layout, service: str) -> list[str]:
    """Return the arguments with which a service finds its configuration."""
    if service != 'cinder':
        return ['--config-file', str(path(lab, service))]
    return [
        '--config-file',
        str(path(lab, service)),
        '--config-file',
        str(lab.cinder_backends),
        '--config-dir',
        str(lab.cinder_overrides),
    ]


def config_folder(lab: layout.Layout, service: str) -> pathlib.Path:
    """Return the folder in which a service looks for its files."""
    folder = lab.etc / service
    return folder if folder.exists() else lab.etc


def enabled_backends(lab: layout.Layout) -> list[str]:
    """Return the names of the backends that cinder-volume runs."""
    sections = configparser.ConfigParser(interpolation=None, strict=False)
    for file in read_by(lab, 'cinder'):
        sections.read_string(file.read_text(), str(file))
    return [
        name.strip()
        for name in sections['DEFAULT']['enabled_backends'].split(',')
    ]


def _conf_name(service: str) -> str:
    return 'glance-api.conf' if service == 'glance' else f'{service}.conf'
