# SPDX-License-Identifier: Apache-2.0

"""A fleet of hundreds, from making it to its result file.

The scenario is real, against the cloud of ``fake_cloud``; what guests send is
that of ``generated_results``.
"""

import functools
import sys
import uuid

from rally import plugins

plugins.load()  # rally_openstack cannot be imported before

from rally_scenarios.plugins.fleet import scenario as fleet_scenario
from tests.unit.guest import generated_results
from tests.unit.rally import fake_cloud

TIERS = ('database', 'general', 'archive')
#: (direction, block size in bytes, iodepth, median of a latency in ms)
PATTERNS = {
    'randwrite-4k': ('write', 4096, 16, 20),
    'randread-4k': ('read', 4096, 16, 8),
    'randwrite-64k': ('write', 65536, 8, 30),
    'randread-64k': ('read', 65536, 8, 15),
    'write-1m': ('write', 2**20, 4, 90),
    'read-1m': ('read', 2**20, 4, 60),
}
# Outputs of each pattern and tier that differ: more are only more to draw.
_VARIANTS = 16
_MAY_HAVE = 10**6


@functools.cache
def _variant(job, number, seconds):
    direction, block_bytes, iodepth, median_ms = PATTERNS[job]
    return generated_results.sent(
        job,
        direction=direction,
        block_bytes=block_bytes,
        iodepth=iodepth,
        seconds=seconds,
        median_ms=median_ms * (1 + number / 10),
        seed=number,
    )


class LargeFleet:
    """Makes a fleet, runs it and keeps what came of it.

    :ivar cloud: in which it was
    :ivar outputs: of the run, as Rally keeps them
    :ivar took_s: {part of the run, such as create_volumes: seconds}
    """

    def __init__(
        self, *, guests_per_tier, repeats, runtime_seconds=60, patterns=None
    ):
        """Make the cloud.

        :param patterns: how many of PATTERNS; None: all
        """
        self.patterns = dict(list(PATTERNS.items())[:patterns])
        self.guests = guests_per_tier * len(TIERS)
        self.turns = repeats * len(self.patterns)
        self._repeats = repeats
        self._runtime_seconds = runtime_seconds
        self._guests_per_tier = guests_per_tier
        self.cloud = fake_cloud.Cloud(
            images={'any': ['image-any']}, multiattach_types={'c_rally_start'}
        )
        self.cloud.hosts = tuple(f'host-{number}' for number in range(40))
        self.cloud.most_servers = _MAY_HAVE
        self.cloud.limits = {
            'maxServerGroups': 10,
            'maxServerGroupMembers': _MAY_HAVE,
        }
        # Each guest is read once in some turns.
        self.cloud.seconds_per_reading = 150 / self.guests
        self.cloud.slot_ms = 1000 * (runtime_seconds + 6)
        self.cloud.sent = self._sent
        self.outputs = {}
        self.took_s = {}

    @property
    def console_bytes(self):
        """What the consoles take in memory, those of deleted servers, too."""
        return sum(
            sys.getsizeof(line)
            for made in self.cloud.everything_made
            for line in getattr(made, 'lines', None) or ()
        )

    def _sent(self, guest, _slot, job, _volumes):
        number = int(guest[1:]) % _VARIANTS
        return _variant(job, number, self._runtime_seconds)

    def run(self, folder):
        """Run it.

        :param folder: of the result file
        """
        owner = str(uuid.uuid4())
        scenario = fleet_scenario.FleetFio(
            context={
                'owner_id': owner,
                'task': {'uuid': owner},
                'cinder_tiers_start_signal': {'volume_type': 'c_rally_start'},
            },
            clients=self.cloud.clients(),
            clock=self.cloud.clock,
        )
        try:
            scenario.run(
                fleets=[{'tier': tier, 'image': 'any'} for tier in TIERS],
                patterns=[
                    {
                        'name': name,
                        'rw': f'rand{direction}'
                        if name.startswith('rand')
                        else direction,
                        'bs': f'{block_bytes // 1024}k',
                        'iodepth': iodepth,
                    }
                    for name, (direction, block_bytes, iodepth, _ms) in (
                        self.patterns.items()
                    )
                ],
                flavor='1',
                guests_per_tier=self._guests_per_tier,
                repeats=self._repeats,
                ramp_seconds=5,
                runtime_seconds=self._runtime_seconds,
                listen_every_seconds=0,
                result_folder=str(folder),
                # More than 200 share no volume.
                start={'by': 'clock'},
            )
        finally:
            self.outputs = scenario._output
            self.took_s = {
                part['name'].removeprefix('cinder_tiers.'): (
                    part['finished_at'] - part['started_at']
                )
                for part in scenario.atomic_actions()
            }
