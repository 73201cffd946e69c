# SPDX-License-Identifier: Apache-2.0

"""Arguments of the scenario of fleets: those that are mappings, and all.

Rally checks a task by these types before anything is made.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Annotated
from typing import Any
from typing import Literal

from rally.task import scenario as task_scenario
import typing_extensions

from cinder_tiers.figures.fio import pattern as fio_pattern
from rally_scenarios.plugins.fleet import shape as fleet_shape
from rally_scenarios.plugins.results import store

AtLeastOne = Annotated[int, task_scenario.Field(ge=1)]
Size = Literal['paper', 'lab', 'smoke'] | None
#: Of tiers and of patterns, within each repeat.
TurnOrder = Literal['random', 'listed']
ZeroOrMore = Annotated[int, task_scenario.Field(ge=0)]
# What is left out says nothing: a profile, or a default, speaks then.
OneOrNone = AtLeastOne | None
ZeroOrNone = ZeroOrMore | None
PauseSeconds = Annotated[float, task_scenario.Field(ge=0, le=3600)]
#: Guests' shells reckon in milliseconds, some in 64 bits.
LimitSeconds = Annotated[int, task_scenario.Field(ge=1, le=10**7)]
#: fio has its log of latencies in ms, of which 32 bits are read.
LogSecondsOrNone = Annotated[int, task_scenario.Field(ge=1, le=86400)] | None

# What a task that says nothing gets, here and in the scenarios' signatures.
LATE_AFTER_MS = 500
LISTEN_EVERY_SECONDS = 2
TURN_ORDER = 'random'
RESULT_FOLDER = store.DEFAULT_FOLDER


class DisksArgs(typing_extensions.TypedDict, closed=True):
    """The disks below a tier, see figures.fleet.disk_estimate."""

    disks: AtLeastOne
    iops_per_disk: Annotated[float, task_scenario.Field(gt=0)]
    replicas: AtLeastOne
    disk_writes_per_write: typing_extensions.NotRequired[
        Annotated[float, task_scenario.Field(ge=1)]
    ]


class FleetArgs(typing_extensions.TypedDict, closed=True):
    """A tier's part of the fleet.

    tier: a label; image: name of an image whose tag selects the tier;
    disks: the disks below the tier; volume_type: type of blank data volumes;
    expected_volume_type: type that the measured volumes must have.
    """

    tier: Annotated[str, task_scenario.Field(min_length=1)]
    image: Annotated[str, task_scenario.Field(min_length=1)]
    expected_volume_type: typing_extensions.NotRequired[
        Annotated[str, task_scenario.Field(min_length=1)]
    ]
    disks: typing_extensions.NotRequired[DisksArgs]
    volume_type: typing_extensions.NotRequired[fleet_shape.Name]


class PatternArgs(typing_extensions.TypedDict, closed=True):
    """A pattern, see figures.fio.pattern.Pattern."""

    name: str
    rw: Literal[fio_pattern.WORKLOADS]
    bs: typing_extensions.NotRequired[str]
    iodepth: typing_extensions.NotRequired[AtLeastOne]
    bsrange: typing_extensions.NotRequired[str]
    bssplit: typing_extensions.NotRequired[str]
    rwmixread_percent: typing_extensions.NotRequired[ZeroOrMore]
    ioengine: typing_extensions.NotRequired[str]
    numjobs: typing_extensions.NotRequired[AtLeastOne]
    rate_iops: typing_extensions.NotRequired[AtLeastOne]
    rate_kib: typing_extensions.NotRequired[AtLeastOne]
    size_mib: typing_extensions.NotRequired[AtLeastOne]
    startdelay_seconds: typing_extensions.NotRequired[ZeroOrMore]
    end_fsync: typing_extensions.NotRequired[bool]
    rate_process: typing_extensions.NotRequired[
        Literal[fio_pattern.RATE_PROCESSES]
    ]
    fdatasync: typing_extensions.NotRequired[AtLeastOne]
    fsync: typing_extensions.NotRequired[AtLeastOne]
    sync: typing_extensions.NotRequired[Literal[fio_pattern.SYNCS]]
    direct: typing_extensions.NotRequired[bool]
    random_distribution: typing_extensions.NotRequired[str]
    thinktime_us: typing_extensions.NotRequired[AtLeastOne]


class CephArgs(typing_extensions.TypedDict, closed=True):
    """The cluster below the tiers, as Rally's host can read it.

    conf: path of its ceph.conf; user: cephx user without ``client.``.
    """

    conf: Annotated[str, task_scenario.Field(min_length=1)]
    user: typing_extensions.NotRequired[
        Annotated[str, task_scenario.Field(min_length=1)]
    ]


class ZoneArgs(typing_extensions.TypedDict, closed=True, total=False):
    """Availability zones; the service chooses where none is named.

    compute: of servers; volume: of volumes.
    """

    compute: Annotated[str, task_scenario.Field(min_length=1)]
    volume: Annotated[str, task_scenario.Field(min_length=1)]


class StopArgs(typing_extensions.TypedDict, closed=True):
    """Rule that ends the repeats, see figures.stats.stopping.

    interval_percent: half of each interval of IOPS, in percent of the mean;
    p99_interval_percent: the same for p99, which otherwise does not matter;
    most_repeats: the maximum number of repeats.
    """

    interval_percent: Annotated[float, task_scenario.Field(gt=0, lt=100)]
    p99_interval_percent: typing_extensions.NotRequired[
        Annotated[float, task_scenario.Field(gt=0, lt=100)]
    ]
    most_repeats: typing_extensions.NotRequired[AtLeastOne]


class PreconditionArgs(typing_extensions.TypedDict, closed=True):
    """Writes of guests before the first turn.

    See figures.fleet.precondition.

    rw: write or randwrite; bs, iodepth: as in a pattern;
    round_seconds: length of a round; most_rounds: maximum number of rounds.
    """

    rw: typing_extensions.NotRequired[Literal['write', 'randwrite']]
    bs: typing_extensions.NotRequired[str]
    iodepth: typing_extensions.NotRequired[AtLeastOne]
    round_seconds: typing_extensions.NotRequired[AtLeastOne]
    most_rounds: typing_extensions.NotRequired[AtLeastOne]


class KeepArgs(typing_extensions.TypedDict, closed=True):
    """A fleet that is kept for further runs, see fleet.kept.

    name: by which it is found again;
    last: whether it is deleted after this run.
    """

    name: Annotated[str, task_scenario.Field(min_length=1)]
    last: typing_extensions.NotRequired[bool]


class TimeoutArgs(typing_extensions.TypedDict, closed=True, total=False):
    """Time limits in seconds.

    volumes: for all volumes to become available, and to be deleted;
    boot: for one server to get its disks, and for all to become active;
    prepare: for a guest to fill its region;
    ready: for the leading guest to wait for the others, from the start of its
    own script;
    end: for the last results, after the end of the schedule.
    """

    volumes: LimitSeconds
    boot: LimitSeconds
    prepare: LimitSeconds
    ready: LimitSeconds
    end: LimitSeconds


@dataclasses.dataclass(frozen=True, kw_only=True)
class FleetArguments:
    """Arguments of a task for a fleet; None: not given.

    ``scenario.FleetFio.run`` documents each of them.
    """

    fleets: Sequence[Mapping[str, Any]]
    #: id, or, before Rally has looked it up, what the task says of it
    flavor: Any = None
    patterns: Sequence[Mapping[str, Any]] | None = None
    profile: str | None = None
    job_file: str | None = None
    profile_size: str | None = None
    ioengine: str | None = None
    guests_per_tier: int | None = None
    late_after_ms: int = LATE_AFTER_MS
    guest_steps: Sequence[int] | None = None
    load_steps: Sequence[int] | None = None
    volume_size_gib: int | None = None
    gap_seconds: int | None = None
    region_mib: int | None = None
    start_volume_type: str | None = None
    ramp_seconds: int | None = None
    runtime_seconds: int | None = None
    tier_mib_per_second: int | None = None
    repeats: int | None = None
    start: Mapping[str, Any] | None = None
    ceph: Mapping[str, Any] | None = None
    listen_every_seconds: float = LISTEN_EVERY_SECONDS
    spread: bool | None = None
    volume: Mapping[str, Any] | None = None
    result_folder: str = RESULT_FOLDER
    timeouts_seconds: Mapping[str, int] | None = None
    transport: Mapping[str, Any] | None = None
    turn_order: str = TURN_ORDER
    zones: Mapping[str, str] | None = None
    stop_when: Mapping[str, Any] | None = None
    precondition: Mapping[str, Any] | None = None
    #: None: one is drawn for each run
    seed: int | None = None
    cost_from: str | None = None
    side_by_side: bool = False
    keep: Mapping[str, Any] | None = None
    latency_seconds: int | None = None
