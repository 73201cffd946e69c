# SPDX-License-Identifier: Apache-2.0
"""The lab's cloud, as the runs of faults need it: clients, doors, services.

Everything is done as a user or an operator would do it: over the public APIs,
by files in ``etc/cinder.d``, by supervisord, by signals.
"""

import concurrent.futures
import contextlib
import dataclasses
import itertools
import json
import os
import pathlib
import re
import signal
import time

from openstack.config import loader
from openstack import connection

from tests.functional import commands
from tests.functional import lab

MEMBER = 'cinder-tiers-lab-member'
ADMIN = 'cinder-tiers-lab'
_RECORD = re.compile(r' tiers\.decision (\{.*\})')
_CINDER_FILTERS = 'AvailabilityZoneFilter,CapacityFilter,CapabilitiesFilter'
_SERVICES = ('cinder-api', 'cinder-scheduler', 'cinder-volume')
_DELETE_SECONDS = 300


def settings(
    layout_venv: pathlib.Path, *, doors: str, glance: str | None, is_cold: bool
) -> str:
    """A file for Cinder that opens or shuts the doors.

    :param layout_venv: the Python environment of Cinder.
    :param doors: ``both``, ``scheduler`` for that door alone, or ``off``.
    :param glance: URL where Cinder is to look for Glance; None for the one
        in the catalog of services.
    :param is_cold: whether the doors remember nothing of Glance, neither
        images nor failures, and ask it for each create.
    :returns: the file's text; empty if nothing differs from the lab.
    """
    lines = {'DEFAULT': [], 'cinder_tiers': []}
    if doors != 'both':
        paste = layout_venv / 'etc' / 'cinder' / 'api-paste.ini'
        lines['DEFAULT'].append(f'api_paste_config = {paste}')
    if doors == 'off':
        lines['DEFAULT'] += [
            f'scheduler_default_filters = {_CINDER_FILTERS}',
            'scheduler_default_weighers = CapacityWeigher',
        ]
    if glance:
        lines['DEFAULT'].append(f'glance_api_servers = {glance}')
    if is_cold:
        lines['cinder_tiers'] += [
            'image_cache_seconds = 0',
            'image_stale_seconds = 0',
            'glance_failures = 1000000',
        ]
    return ''.join(
        f'[{section}]\n' + ''.join(f'{line}\n' for line in content)
        for section, content in lines.items()
        if content
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Decision:
    """A record of a decision in the log of a door.

    :param seconds: what the door took.
    """

    door: str
    request_id: str
    error: str | None
    seconds: float


class Cloud:
    """The running lab.

    :raises AssertionError: the lab is not up.
    """

    def __init__(self):
        self.environment = lab.user_environment()
        self.root = pathlib.Path(self.environment['CINDER_TIERS_LAB'])
        clouds = loader.OpenStackConfig(
            config_files=[str(self.root / 'clouds.yaml')], load_envvars=False
        )
        self.member, self.admin = (
            connection.Connection(config=clouds.get_one(name))
            for name in (MEMBER, ADMIN)
        )
        self._settings = None  # a run that was killed may have left some
        self.images = {
            image.name: image.id for image in self.member.image.images()
        }

    @property
    def glance_url(self) -> str:
        """As Cinder finds it in the catalog of services."""
        return self.member.session.get_endpoint(
            service_type='image', interface='public'
        )

    def run(self, *argv: str) -> str:
        """Run a command as the lab's admin; return its standard output.

        :raises AssertionError: it failed.
        """
        done = commands.run(argv, environment=self.environment, timeout_s=600)
        if done.returncode:
            raise AssertionError(
                f'{" ".join(argv)} ended with {done.returncode}: {done.stderr}'
            )
        return done.stdout

    def restart(self, *services: str) -> None:
        """Restart services; return when they serve requests again."""
        self.run(lab.LAB_SH, 'restart', *services)

    def supervisorctl(self, verb: str, service: str) -> None:
        """Stop or start a service and nothing else."""
        self.run(
            str(self.root / 'cache/tools/bin/supervisorctl'),
            '-c',
            str(self.root / 'supervisor/supervisord.conf'),
            verb,
            service,
        )

    @contextlib.contextmanager
    def frozen(self, service: str):
        """Keep a service and its children from running at all."""
        # supervisord makes each program the leader of a group
        group = next(
            row['pid']
            for row in json.loads(self.run(lab.LAB_SH, 'status', '-f', 'json'))
            if row['name'] == service
        )
        os.killpg(group, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(group, signal.SIGCONT)

    def configure_cinder(self, text: str) -> None:
        """Have Cinder run with a file of settings, restarted if needed.

        :param text: the file's text; empty for the lab's own settings.
        """
        if text == self._settings:
            return
        file = self.root / 'etc' / 'cinder.d' / 'faults.conf'
        if text:
            file.write_text(text)
        else:
            file.unlink(missing_ok=True)
        # cinder-volume has no door, but looks for Glance
        with_volume = (
            self._settings is None
            or 'glance_api_servers' in self._settings + text
        )
        self._settings = None
        self.restart(*_SERVICES if with_volume else _SERVICES[:2])
        self._settings = text

    @contextlib.contextmanager
    def as_it_was(self):
        """Give Cinder the lab's own settings back at the end."""
        try:
            yield
        finally:
            self.configure_cinder('')

    @contextlib.contextmanager
    def no_limit(self):
        """Lift the quota of the member's project.

        What a restart of the database makes Cinder miscount must not fail
        the creates of a later test.
        """
        project = self.member.current_project_id
        storage = self.admin.block_storage
        before = storage.get_quota_set(project)
        storage.update_quota_set(project, volumes=-1, gigabytes=-1)
        try:
            yield
        finally:
            storage.update_quota_set(
                project, volumes=before.volumes, gigabytes=before.gigabytes
            )

    def volumes(self, prefix: str) -> dict[str, dict]:
        """{id: volume, as the admin sees it} of those with such a name."""
        answer = self.admin.block_storage.get(
            '/volumes/detail?all_tenants=1&limit=1000'
        )
        answer.raise_for_status()
        return {
            volume['id']: volume
            for volume in answer.json()['volumes']
            if (volume['name'] or '').startswith(prefix)
        }

    def pools(self) -> dict[str, str]:
        """{volume id: the pool that holds its RBD image}, asked of Ceph."""
        return {
            image.removeprefix('volume-'): pool
            for pool in lab.POOLS
            for image in self.run('rbd', 'ls', pool).split()
        }

    def delete(self, prefix: str) -> None:
        """Delete volumes, whatever state they are in.

        :raises AssertionError: some are still there after a time.
        """
        deadline = time.monotonic() + _DELETE_SECONDS
        ours = self.volumes(prefix)
        known = set(ours)
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            for rounds in itertools.count():
                # a delete can fail as a create does: not asked only once
                if rounds % 20 == 0:
                    list(pool.map(self._delete, ours.values()))
                ours = self.volumes(prefix)
                images = known & set(self.pools())
                if not ours and not images:
                    return
                if not ours and rounds % 20 == 19:
                    lab.remove_what_cinder_left(self.environment, images)
                if time.monotonic() > deadline:
                    raise AssertionError(
                        f'not deleted after {_DELETE_SECONDS} s: '
                        f'{ours or images}'
                    )
                time.sleep(1)

    def _delete(self, volume: dict) -> None:
        actions = [{'os-force_delete': {}}]
        if volume['status'] not in ('available', 'error'):
            actions.insert(0, {'os-reset_status': {'status': 'error'}})
        for action in actions:
            self.admin.block_storage.post(
                f'/volumes/{volume["id"]}/action', json=action, raise_exc=False
            )

    def decisions(self, since: dict[str, int]) -> list[Decision]:
        """The decisions that the doors have recorded since a time.

        :param since: what :meth:`log_sizes` answered then.
        """
        found = []
        for log, size in self.log_sizes().items():
            start = since.get(log, 0)
            with open(log, 'rb') as stream:
                stream.seek(start if start <= size else 0)  # it was rotated
                text = stream.read().decode(errors='replace')
            for match in _RECORD.finditer(text):
                record = json.loads(match[1])
                found.append(
                    Decision(
                        **{
                            field.name: record[field.name]
                            for field in dataclasses.fields(Decision)
                        }
                    )
                )
        return found

    def log_sizes(self) -> dict[str, int]:
        """{path of a door's log: bytes}."""
        return {
            str(path): path.stat().st_size
            for path in (
                self.root / 'log' / f'{service}.log'
                for service in _SERVICES[:2]
            )
        }
