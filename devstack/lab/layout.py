# SPDX-License-Identifier: Apache-2.0
"""Where all files of the lab are, and the ports on which it listens.

One folder holds all state, so that one machine can have two labs and
``destroy`` can be exact. Nothing here starts or changes anything but the
folder itself.
"""

from collections.abc import Mapping
import dataclasses
import fcntl
import ipaddress
import json
import os
import pathlib
import secrets
from typing import Any
import uuid

from lab import private_file

#: The project that the lab runs, and the versions of its Python packages.
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
CONSTRAINTS = REPOSITORY / 'devstack' / 'lab' / 'constraints.txt'

DEFAULT_ROOT = '/var/lib/cinder-tiers-lab'
ROOT_VARIABLE = 'CINDER_TIERS_LAB'
PORT_OFFSET_VARIABLE = 'CINDER_TIERS_LAB_PORT_OFFSET'

#: Service name -> TCP port on 127.0.0.1, before the offset is added.
PORTS = {
    'keystone': 5000,
    'glance': 9292,
    'cinder': 8776,
    'placement': 8778,
    'neutron': 9696,
    'nova': 8774,
    'mariadb': 13306,
    'rabbitmq': 15671,
    'rabbitmq-distribution': 15673,
    'epmd': 14369,
    'ceph-mon-v2': 3300,
    'ceph-mon-v1': 6789,
}
#: First and last port of the OSDs and the manager, before the offset.
CEPH_DAEMON_PORTS = (16800, 16999)
#: The same of the second Ceph cluster, which is there on request only.
SECOND_CEPH_PORTS = {
    'ceph-second-mon-v2': 3310,
    'ceph-second-mon-v1': 6799,
}
SECOND_CEPH_DAEMON_PORTS = (17000, 17099)
#: From 32768 on the kernel gives ports to the sockets of clients
#: (net.ipv4.ip_local_port_range), which a service would find taken at times.
LARGEST_PORT_OFFSET = 15000
#: Of services of a lab whose guests have a network.
NETWORK_PORTS = {'nova-metadata': 8775}
#: Of guests, for all labs of a machine. RFC 2544 sets it aside for tests of
#: network devices, so nothing on the Internet has such an address.
GUEST_ADDRESSES = ipaddress.IPv4Network('198.18.0.0/15')

#: Says that a folder is a lab, and holds its secrets.
DESCRIPTION = 'lab.json'
#: Folders that a lab can be emptied but for.
DOWNLOADS = ('cache', 'venv')

#: How Cinder's services may run their threads; a new lab has the first.
THREADS = ('native', 'eventlet')

_PASSWORDS = ('admin', 'member', 'database', 'messaging', 'service')


class LayoutError(Exception):
    """The folder cannot be used as a lab."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Layout:
    """Paths, ports and secrets of one lab.

    :param root: the folder of all state.
    :param port_offset: added to every port, 0 to 15000.
    :param passwords: purpose -> password, made at random once.
    :param secret_uuid: UUID under which libvirt keeps the cephx key.
    """

    root: pathlib.Path
    port_offset: int
    passwords: dict[str, str]
    secret_uuid: str

    @property
    def venv(self) -> pathlib.Path:
        return self.root / 'venv'

    @property
    def python(self) -> pathlib.Path:
        return self.venv / 'bin' / 'python'

    @property
    def tools(self) -> pathlib.Path:
        """A Python environment for uv and supervisord."""
        return self.cache / 'tools'

    @property
    def venv_stamp(self) -> pathlib.Path:
        """Holds the digest of what the environment was made from."""
        return self.venv / 'cinder-tiers-lab.stamp'

    @property
    def cache(self) -> pathlib.Path:
        return self.root / 'cache'

    @property
    def etc(self) -> pathlib.Path:
        return self.root / 'etc'

    @property
    def log(self) -> pathlib.Path:
        return self.root / 'log'

    @property
    def run(self) -> pathlib.Path:
        return self.root / 'run'

    @property
    def stamps(self) -> pathlib.Path:
        return self.root / 'stamps'

    @property
    def ceph_conf(self) -> pathlib.Path:
        return self.root / 'ceph' / 'ceph.conf'

    @property
    def second_ceph(self) -> pathlib.Path:
        """The folder of the second Ceph cluster."""
        return self.root / 'ceph-second'

    @property
    def has_second_ceph(self) -> bool:
        """Whether the lab has, or begins to have, a second Ceph cluster."""
        return self.second_ceph.exists()

    @property
    def second_secret_uuid(self) -> str:
        """UUID under which libvirt keeps the key of the second cluster."""
        return str(uuid.uuid5(uuid.UUID(self.secret_uuid), 'second'))

    @property
    def scratch(self) -> pathlib.Path:
        """The folder of a disk that may be overwritten."""
        return self.root / 'scratch'

    @property
    def layers_host(self) -> pathlib.Path:
        """What the task ``layers`` must know of this host."""
        return self.scratch / 'layers-host.yaml'

    @property
    def cinder_backends(self) -> pathlib.Path:
        """What ``openstack tier backend-config`` says of cinder.conf."""
        return self.etc / 'cinder-backends.conf'

    @property
    def cinder_overrides(self) -> pathlib.Path:
        """A folder of the user's own for files like cinder.conf."""
        return self.etc / 'cinder.d'

    @property
    def cinder_api_paste(self) -> pathlib.Path:
        """Cinder's own api-paste.ini, with the filter of the tiers in it."""
        return self.etc / 'cinder-api-paste.ini'

    @property
    def threads(self) -> str:
        """How Cinder's services run their threads, one of THREADS."""
        try:
            return self._threads_file.read_text().strip()
        except FileNotFoundError:
            # As it was when labs had no choice.
            return 'eventlet'

    def choose_threads(self, threads: str) -> None:
        """Choose how Cinder's services run from their next start.

        :param threads: one of THREADS.
        """
        private_file.write(self._threads_file, f'{threads}\n')

    @property
    def _threads_file(self) -> pathlib.Path:
        # Not in the description: a command that changes the lab locks that.
        return self.root / 'cinder-threads'

    @property
    def has_network(self) -> bool:
        """Whether guests have a network, or are to have one."""
        return self._network == 'on'

    @property
    def gives_up_network(self) -> bool:
        """Whether something of a network is left that is to go."""
        return self._network == 'off'

    @property
    def _network(self) -> str:
        try:
            return self._network_file.read_text().strip()
        except FileNotFoundError:
            return ''

    def choose_network(self, wanted: bool) -> None:
        """Choose whether guests have a network from the next ``up`` on."""
        if wanted or self.has_network:
            private_file.write(
                self._network_file, 'on\n' if wanted else 'off\n'
            )

    def forget_network(self) -> None:
        """Note that nothing is left of a network of guests."""
        self._network_file.unlink(missing_ok=True)

    @property
    def _network_file(self) -> pathlib.Path:
        return self.root / 'network'

    @property
    def guest_subnet(self) -> ipaddress.IPv4Network:
        """The addresses of guests; those of another lab are others.

        Labs on one machine have ports that differ by hundreds at least.
        """
        begin = GUEST_ADDRESSES.network_address + 256 * (
            self.port_offset // 100
        )
        return ipaddress.IPv4Network((begin, 24))

    @property
    def host_address(self) -> ipaddress.IPv4Interface:
        """The address at which guests see this machine."""
        return ipaddress.IPv4Interface(
            (self.guest_subnet.network_address + 1, 24)
        )

    @property
    def host_link(self) -> str:
        """The network interface of this machine that leads to guests."""
        return f'cthost{self.port_offset}'

    @property
    def guest_link(self) -> str:
        """The other end of ``host_link``, to which guests are attached."""
        return f'ctguest{self.port_offset}'

    @property
    def dnsmasq_conf(self) -> pathlib.Path:
        """Options of the DHCP servers of Neutron."""
        return self.etc / 'dnsmasq.conf'

    @property
    def dhcp_folder(self) -> pathlib.Path:
        """Where Neutron's DHCP agent has a folder for each network."""
        return self.root / 'state' / 'neutron' / 'dhcp'

    @property
    def guest_image(self) -> pathlib.Path:
        return self.cache / 'guest.raw'

    @property
    def guest_kernel(self) -> pathlib.Path:
        """The kernel of the guest image, as Glance serves it."""
        return self.cache / 'guest.kernel'

    @property
    def guest_initramfs(self) -> pathlib.Path:
        """The root file system that belongs to the kernel."""
        return self.cache / 'guest.initramfs'

    @property
    def guest_kernel_arguments(self) -> pathlib.Path:
        """A line: what the kernel is told."""
        return self.cache / 'guest.arguments'

    @property
    def debian_image(self) -> pathlib.Path:
        """The raw image of a Debian guest, if the lab was asked for one."""
        return self.cache / 'debian.raw'

    @property
    def libvirt_folder(self) -> pathlib.Path:
        """The folder that the lab's libvirtd sees as /run/libvirt."""
        return self.root / 'libvirt' / 'run' / 'libvirt'

    @property
    def libvirt_uri(self) -> str:
        """The connection URI of the lab's own libvirtd."""
        return f'qemu+unix:///system?socket={self.libvirt_folder}/libvirt-sock'

    def port(self, service: str) -> int:
        """Return the TCP port of a service.

        :param service: a name in :data:`PORTS`, :data:`SECOND_CEPH_PORTS` or
            :data:`NETWORK_PORTS`.
        """
        ports = {**PORTS, **SECOND_CEPH_PORTS, **NETWORK_PORTS}
        return ports[service] + self.port_offset

    def ceph_daemon_ports(self) -> tuple[int, int]:
        """Return the first and last port that OSDs and manager may use."""
        first, last = CEPH_DAEMON_PORTS
        return first + self.port_offset, last + self.port_offset

    def second_ceph_daemon_ports(self) -> tuple[int, int]:
        """Return :meth:`ceph_daemon_ports` of the second cluster."""
        first, last = SECOND_CEPH_DAEMON_PORTS
        return first + self.port_offset, last + self.port_offset

    def second_ceph_ports(self) -> dict[str, int]:
        """Return the ports of the second cluster's monitor, by name."""
        return {name: self.port(name) for name in SECOND_CEPH_PORTS}

    def url(self, service: str, path: str = '') -> str:
        """Return the loopback URL of an API service."""
        return f'http://127.0.0.1:{self.port(service)}{path}'


def chosen_root(environment: Mapping[str, str] = os.environ) -> pathlib.Path:
    """Return the state folder that the environment chooses, resolved."""
    return pathlib.Path(
        environment.get(ROOT_VARIABLE) or DEFAULT_ROOT
    ).resolve()


def port_offset(environment: Mapping[str, str] = os.environ) -> int:
    """Return the offset that the environment chooses, 0 by default.

    :raises LayoutError: it is not a number in range.
    """
    text = environment.get(PORT_OFFSET_VARIABLE) or '0'
    if not text.isdecimal() or int(text) > LARGEST_PORT_OFFSET:
        raise LayoutError(
            f'{PORT_OFFSET_VARIABLE}={text!r}: expected a '
            f'number from 0 to {LARGEST_PORT_OFFSET}: beyond it, services '
            'would have ports that the kernel gives to clients.'
        )
    return int(text)


def load(root: pathlib.Path) -> Layout | None:
    """Return the lab that lives in a folder, or None if there is none.

    :raises LayoutError: its description is damaged.
    """
    description = root / DESCRIPTION
    try:
        values = json.loads(description.read_text())
        return Layout(
            root=root,
            port_offset=values['port_offset'],
            passwords=values['passwords'],
            secret_uuid=values['secret_uuid'],
        )
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as problem:
        raise LayoutError(
            f"{description}: not a lab's description ({problem!r}). "
            f'Remove {root} by hand if nothing in it is needed.'
        ) from None


def load_or_create(
    root: pathlib.Path, environment: Mapping[str, str] = os.environ
) -> Layout:
    """Return the lab in a folder, making folder and secrets at first.

    :raises LayoutError: the folder holds something else, the path is too
        long for a socket, or the port offset is not a number in range.
    """
    lab = load(root)
    if lab:
        _make_folders(lab)
        return lab
    # sockaddr_un holds 107 bytes; libvirt's monitor sockets are the longest.
    if len(str(root)) > 40:
        raise LayoutError(
            f'{root}: {len(str(root))} characters, but the sockets below it '
            f'allow 40 at most. Set {ROOT_VARIABLE} to a shorter path.'
        )
    offset = port_offset(environment)
    root.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # Of two that begin at once, the second takes what the first made.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return load(root) or _create(root, offset)
    finally:
        os.close(descriptor)


def _create(root: pathlib.Path, offset: int) -> Layout:
    if any(
        entry.name not in DOWNLOADS
        # Of one that was killed before its file was whole.
        and not entry.name.startswith(f'.{DESCRIPTION}.')
        for entry in root.iterdir()
    ):
        raise LayoutError(
            f'{root}: exists, is not empty and is not a lab. '
            f'Set {ROOT_VARIABLE} to another folder.'
        )
    root.chmod(0o700)  # logs and databases hold secrets
    values: dict[str, Any] = {
        'port_offset': offset,
        'secret_uuid': str(uuid.uuid4()),
        'passwords': {name: secrets.token_hex(12) for name in _PASSWORDS},
    }
    private_file.write(root / DESCRIPTION, json.dumps(values, indent=1))
    lab = Layout(root=root, **values)
    lab.choose_threads(THREADS[0])
    _make_folders(lab)
    return lab


def _make_folders(lab: Layout) -> None:
    for folder in (
        lab.cache,
        lab.etc,
        lab.cinder_overrides,
        lab.log,
        lab.run,
        lab.stamps,
    ):
        folder.mkdir(exist_ok=True)


def holds_downloads_only(root: pathlib.Path) -> bool:
    """Return whether a folder is what ``destroy --keep-downloads`` leaves."""
    return (root / 'cache' / 'tools' / 'bin' / 'supervisord').exists() and {
        entry.name for entry in root.iterdir()
    } <= set(DOWNLOADS)
