# SPDX-License-Identifier: Apache-2.0
"""The command line of the lab: parse, call, print."""

import argparse
from collections.abc import Callable
import contextlib
import dataclasses
import functools
import json
import pathlib
import signal
import subprocess
import sys

from lab.ceph import errors
from lab import debian_image
from lab import down
from lab import guest_network
from lab.guests import build_folder
from lab.guests.debian import image
from lab.host import commands
from lab.host import guest_link
from lab.host import preflight
from lab.host import throttle
from lab import layout
from lab import lock
from lab.openstack import access
from lab.processes import lab_processes
from lab.processes import readiness
from lab.processes import supervisord
from lab import restart
from lab import scratch_disk
from lab import second_ceph
from lab import stages
from lab import status
from lab import up

EPILOG = f"""examples:
  devstack/lab.sh up                 start the cloud, or what died in it
  devstack/lab.sh demo               measure each tier inside guests
  . <(devstack/lab.sh openrc)        point clients at it; then for example
  openstack tier plan
  devstack/lab.sh logs cinder-volume -n 50
  devstack/lab.sh restart cinder-api cinder-scheduler
  devstack/lab.sh up --threads eventlet  run Cinder with eventlet from now on
  devstack/lab.sh up --network       give guests a network, from now on
  devstack/lab.sh up --ceph-only     Ceph alone, within half a minute
  devstack/lab.sh --release trixie up  all of it in a Debian 13 of its own
  devstack/lab.sh second-ceph up     another cluster, for tiers of its own
  devstack/lab.sh debian-image       a Debian guest with cloud-init
  devstack/lab.sh destroy            leave nothing behind

environment:
  {layout.ROOT_VARIABLE}              folder of all state
                                ({layout.DEFAULT_ROOT})
  {layout.PORT_OFFSET_VARIABLE}  added to every port at the first start
  CINDER_TIERS_CATALOG          catalog to apply
                                (etc/cinder-tiers/tiers.yaml)

exit status: 0 done, 1 failed or (status) something does not run, 2 usage
"""


def main() -> int:
    """Run one command; return the exit status."""
    options = _parser().parse_args()
    # As Ctrl-C: what is begun is put in order before the end.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    root = layout.chosen_root()
    try:
        return options.run(options, root)
    except stages.StagesFailed as failed:
        for result in failed.results:
            if result.problem:
                print(f'\n{result.name}: {result.problem}', file=sys.stderr)
        if failed.skipped:
            print(
                f'\nnot started: {", ".join(failed.skipped)}', file=sys.stderr
            )
        print(
            'Fix the cause and run the same command again: it continues '
            'where this one stopped.',
            file=sys.stderr,
        )
    except (
        preflight.UnsuitableMachineError,
        layout.LayoutError,
        commands.CommandFailed,
        readiness.NotReady,
        supervisord.SupervisorError,
        errors.CephError,
        throttle.ThrottleError,
        RuntimeError,
        OSError,
        LabUnavailableError,
        lock.LabBusyError,
        restart.UnknownServiceError,
        second_ceph.SecondCephError,
        guest_link.GuestLinkError,
        guest_network.GuestNetworkError,
        image.DiskFullError,
        build_folder.GuestImageError,
    ) as problem:
        print(f'lab.sh: {problem}', file=sys.stderr)
    except KeyboardInterrupt:
        print(
            '\nlab.sh: interrupted; what is running is left running '
            '(devstack/lab.sh down stops it)',
            file=sys.stderr,
        )
        return 130
    return 1


class LabUnavailableError(Exception):
    """There is no lab to work on."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='lab.sh',
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description='A real OpenStack cloud with Ceph on one machine, for '
        'cinder-tiers. Loopback only.',
    )
    commands_of_lab = parser.add_subparsers(required=True, metavar='COMMAND')

    def add_command(
        name: str,
        run: Callable[[argparse.Namespace, pathlib.Path], int],
        text: str,
    ) -> argparse.ArgumentParser:
        sub = commands_of_lab.add_parser(name, help=text, description=text)
        sub.set_defaults(run=run)
        return sub

    sub = add_command(
        'up', _up, 'start what is not running; the first time, also set it up'
    )
    sub.add_argument(
        '--threads',
        choices=layout.THREADS,
        help="threads of Cinder's services, as set by "
        'OS_CINDER_DISABLE_EVENTLET_PATCHING; the lab remembers the '
        'choice (native at first)',
    )
    sub.add_argument(
        '--network',
        action=argparse.BooleanOptionalAction,
        help='whether guests have a network that this machine reaches; '
        'the lab remembers the choice (--no-network at first)',
    )
    sub.add_argument(
        '--ceph-only',
        action='store_true',
        help='start Ceph and nothing of OpenStack; "up" without it starts '
        'the rest',
    )
    sub = add_command(
        'restart',
        _restart,
        'restart services, for example after a '
        'change of configuration or code, and wait until they answer',
    )
    sub.add_argument('service', nargs='+', help='as status shows it')
    sub = add_command(
        'second-ceph',
        _second_ceph,
        'a second Ceph cluster in a lab '
        'that runs: up makes it a part of the lab, destroy removes it '
        'with its data',
    )
    sub.add_argument('action', choices=('up', 'destroy'))
    add_command(
        'debian-image',
        _debian_image,
        'have a Debian with cloud-init as an '
        'image in a lab that runs, and a flavor for it; built once',
    )
    sub = add_command(
        'scratch-disk',
        _scratch_disk,
        'the disk that the task layers '
        'overwrites, as slow as those of hdd OSDs: up makes it, as '
        'the command up does, destroy removes it',
    )
    sub.add_argument('action', choices=('up', 'destroy'))
    sub = add_command(
        'status',
        _status,
        'show each service: state, pid, memory and, on failure, the '
        'relevant log line',
    )
    sub.add_argument(
        '-f', '--format', choices=('table', 'json'), default='table'
    )
    add_command('down', _down, 'stop everything; data stays')
    sub = add_command('destroy', _destroy, 'stop everything and remove it')
    sub.add_argument(
        '--keep-downloads',
        action='store_true',
        help='keep the Python environment and the guest image',
    )
    sub = add_command('logs', _logs, "print the end of a service's log")
    sub.add_argument('service', nargs='?', help='all services if left out')
    sub.add_argument('-n', '--lines', type=int, default=20)
    add_command('openrc', _openrc, 'print the variables that clients need')
    sub = add_command(
        'demo',
        _demo,
        'start the lab, show where volumes of tagged '
        'images land, and measure each tier inside guests',
    )
    sub.add_argument(
        '--report',
        type=pathlib.Path,
        metavar='FILE',
        help='where to write the HTML report',
    )
    sub.add_argument(
        '--transport',
        choices=('console', 'ssh', 'both'),
        default='console',
        help='how results leave guests: both measures twice, into one report; '
        'ssh needs a lab whose guests have a network (default: console)',
    )
    return parser


def _up(options: argparse.Namespace, root: pathlib.Path) -> int:
    prepare = functools.partial(
        _prepare_lab,
        root,
        ceph_only=options.ceph_only,
        network=bool(options.network),
    )
    with lock.hold(prepare) as lab:
        if options.threads:
            lab.choose_threads(options.threads)
        if not options.ceph_only:
            _print_line(f"threads of Cinder's services: {lab.threads}")
        guest_network.choose(lab, supervisord.Supervisor(lab), options.network)
        up.up(lab, _print_line, ceph_only=options.ceph_only)
    return 0


def _restart(options: argparse.Namespace, root: pathlib.Path) -> int:
    with lock.hold(functools.partial(_load_lab, root)) as lab:
        restart.restart(lab, options.service, _print_line)
    return 0


def _second_ceph(options: argparse.Namespace, root: pathlib.Path) -> int:
    act = {'up': second_ceph.up, 'destroy': second_ceph.destroy}
    with lock.hold(functools.partial(_load_lab, root)) as lab:
        act[options.action](lab, _print_line)
    return 0


def _debian_image(options: argparse.Namespace, root: pathlib.Path) -> int:
    with lock.hold(functools.partial(_load_lab, root)) as lab:
        debian_image.add(lab, _print_line)
    return 0


def _scratch_disk(options: argparse.Namespace, root: pathlib.Path) -> int:
    act = {'up': scratch_disk.up, 'destroy': scratch_disk.destroy}
    with lock.hold(functools.partial(_load_lab, root)) as lab:
        _print_line(act[options.action](lab))
    return 0


def _status(options: argparse.Namespace, root: pathlib.Path) -> int:
    lab = _load_lab(root)
    rows = status.read_services(lab, supervisord.Supervisor(lab))
    if options.format == 'json':
        print(json.dumps([dataclasses.asdict(row) for row in rows], indent=1))
    else:
        print(f'{"service":<23}{"state":<10}{"pid":>8}{"MiB":>7}  reason')
        for row in rows:
            print(
                f'{row.name:<23}{row.state:<10}{row.pid or "-":>8}'
                f'{row.memory_mib or "-":>7}  {row.log_line}'.rstrip()
            )
        print(f'{status.memory_gib(lab):.1f} GiB in all, guests included')
    return 0 if rows and all(row.state == 'RUNNING' for row in rows) else 1


def _down(options: argparse.Namespace, root: pathlib.Path) -> int:
    with lock.hold(functools.partial(_load_lab, root)) as lab:
        down.down(lab, _print_line)
    return 0


def _destroy(options: argparse.Namespace, root: pathlib.Path) -> int:
    with contextlib.ExitStack() as stack:
        # What was interrupted may have left a folder without a description.
        if layout.load(root):
            stack.enter_context(lock.hold(functools.partial(_load_lab, root)))
        down.destroy(
            root, keep_downloads=options.keep_downloads, print_line=_print_line
        )
    return 0


def _logs(options: argparse.Namespace, root: pathlib.Path) -> int:
    lab = _load_lab(root)
    logs = sorted(lab.log.glob('*.log'))
    if options.service:
        logs = [path for path in logs if path.stem == options.service]
        if not logs:
            known = ', '.join(
                sorted(path.stem for path in lab.log.glob('*.log'))
            )
            raise LabUnavailableError(
                f'no log of {options.service!r}; there are: {known}'
            )
    for path in logs:
        lines = path.read_text(errors='replace').splitlines()
        print(f'==> {path} <==')
        print('\n'.join(lines[-options.lines :]))
    return 0


def _openrc(options: argparse.Namespace, root: pathlib.Path) -> int:
    print((_load_lab(root).root / 'openrc').read_text(), end='')
    return 0


def _demo(options: argparse.Namespace, root: pathlib.Path) -> int:
    transports = (
        ('console', 'ssh')
        if options.transport == 'both'
        else (options.transport,)
    )
    with lock.hold(functools.partial(_prepare_lab, root)) as lab:
        if 'ssh' in transports and not lab.has_network:
            raise LabUnavailableError(
                f'{root}: guests have no network, so SSH does not reach them. '
                'Give them one: devstack/lab.sh up --network'
            )
        up.up(lab, _print_line)
        report = options.report or lab.root / 'reports' / 'demo.html'
        return subprocess.run(
            [
                lab.python,
                '-m',
                'lab.demo',
                str(report.absolute()),
                *transports,
            ],
            env=access.environment(lab),
        ).returncode


def _prepare_lab(
    root: pathlib.Path, *, ceph_only: bool = False, network: bool = False
) -> layout.Layout:
    """Return the lab, after the machine was found able to carry it."""
    existing = layout.load(root)
    if existing and (
        supervisord.Supervisor(existing).is_up()
        or lab_processes.find_marked(root)
    ):
        ports = {}  # the lab's own processes hold them
    else:
        offset = existing.port_offset if existing else (layout.port_offset())
        ports = {name: port + offset for name, port in layout.PORTS.items()}
        if existing and existing.has_second_ceph:
            ports |= existing.second_ceph_ports()
        if network or (existing and existing.has_network):
            ports |= {
                name: port + offset
                for name, port in layout.NETWORK_PORTS.items()
            }
    preflight.check(
        preflight.observe(ports, root),
        root=root,
        lab_exists=existing is not None,
        ceph_only=ceph_only,
    )
    return layout.load_or_create(root)


def _load_lab(root: pathlib.Path) -> layout.Layout:
    lab = layout.load(root)
    if lab is None:
        raise LabUnavailableError(
            f'{root}: no lab is there. Start one with '
            f'devstack/lab.sh up, or set {layout.ROOT_VARIABLE}.'
        )
    return lab


def _print_line(line: str) -> None:
    print(line, flush=True)


if __name__ == '__main__':
    sys.exit(main())
