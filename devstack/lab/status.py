# SPDX-License-Identifier: Apache-2.0
"""What runs and how large: the answers of ``lab.sh status``."""

import dataclasses
import pathlib

from lab import layout
from lab.processes import lab_processes
from lab.processes import service_log
from lab.processes import supervisord


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServiceStatus:
    """One service of the lab.

    :param state: supervisord's word: RUNNING, STOPPED, FATAL, ...
    :param pid: process id; 0 when it does not run.
    :param memory_mib: proportional set size of the process and its
        children; 0 when it does not run.
    :param log_line: on failure, the last line of its log that gives a reason.
    """

    name: str
    state: str
    pid: int
    memory_mib: int
    log_line: str


def read_services(
    lab: layout.Layout, supervisor: supervisord.Supervisor
) -> list[ServiceStatus]:
    """Return the state of every service that this lab has ever started."""
    if supervisor.is_up():
        states = supervisor.states()
    else:
        states = [
            supervisord.ProgramState(
                name=path.stem, state='STOPPED', pid=0, detail=''
            )
            for path in sorted(
                (lab.root / 'supervisor' / 'programs').glob('*.conf')
            )
        ]
    return [
        ServiceStatus(
            name=state.name,
            state=state.state,
            pid=state.pid,
            memory_mib=_process_tree_mib(state.pid) if state.pid else 0,
            log_line=(
                ''
                if state.state in ('RUNNING', 'STOPPED')
                else service_log.find_reason(supervisor.log_file(state.name))
                or state.detail
            ),
        )
        for state in states
    ]


def memory_gib(lab: layout.Layout) -> float:
    """Return the memory of all processes and guests of the lab, in GiB.

    Proportional set sizes: what processes share is counted once.
    """
    processes = [
        *lab_processes.find_marked(lab.root),
        *lab_processes.find_guests(lab.libvirt_folder),
    ]
    return sum(_pss_kib(process.pid) for process in processes) / 2**20


def _process_tree_mib(pid: int) -> int:
    total, todo = 0, [pid]
    while todo:
        member = todo.pop()
        total += _pss_kib(member)
        try:
            children = pathlib.Path(
                f'/proc/{member}/task/{member}/children'
            ).read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        todo.extend(int(word) for word in children.split())
    return total // 1024


def _pss_kib(pid: int) -> int:
    try:
        text = pathlib.Path(f'/proc/{pid}/smaps_rollup').read_text()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0
    for line in text.splitlines():
        if line.startswith('Pss:'):
            return int(line.split()[1])
    return 0
