# SPDX-License-Identifier: Apache-2.0

"""The scenario that measures the layers below a tier, and guests above them.

Thin: the layers are measured one after another from below, the guests by a
run of a fleet; then each is judged by the one below it.
"""

from collections.abc import Sequence
import functools
import pathlib
from typing import Annotated
from typing import Any
from typing import Literal
import uuid

from oslo_log import log as logging
from rally.common import utils as rally_utils
from rally.common import validation
from rally.task import atomic
from rally.task import scenario as task_scenario
from rally.task import types
from rally_openstack.task import scenario
import typing_extensions

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.fleet import duration
from cinder_tiers.figures.layers import model
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.result import trust
from rally_scenarios.plugins.fleet import arguments as fleet_arguments
from rally_scenarios.plugins.fleet import run as fleet_run
from rally_scenarios.plugins.fleet import shape as fleet_shape
from rally_scenarios.plugins.layers import ceph as layers_ceph
from rally_scenarios.plugins.layers import measure
from rally_scenarios.plugins.layers import process
from rally_scenarios.plugins.layers import report as layers_report
from rally_scenarios.plugins.layers import run_plan
from rally_scenarios.plugins.report import harmless
from rally_scenarios.plugins.results import store
from rally_scenarios.plugins import runner
from rally_scenarios.plugins import servers

LOG = logging.getLogger(__name__)

Text = Annotated[str, task_scenario.Field(min_length=1)]


class LayerPatternArgs(typing_extensions.TypedDict, closed=True):
    """A pattern for all layers; iodepth is the number in flight in total."""

    name: str
    rw: Literal[model.WORKLOADS]
    bs: str
    iodepth: fleet_arguments.AtLeastOne


@types.convert(flavor={'type': 'nova_flavor'})
@validation.add('required_platform', platform='openstack', users=True)
@validation.add(runner.NAME)
@validation.add('cinder_tiers_layers')
@scenario.configure(
    name='CinderTiers.layers',
    platform='openstack',
    context={'cleanup@openstack': ['cinder', 'nova']},
)
class Layers(harmless.Scenario):
    """Measure each layer below a tier, from the raw disk up to guests.

    Raw disk, OSD bench, RADOS bench and fio with librbd run on the host of
    Rally, which must reach Ceph; then guests run the same patterns.  The
    report says which layer loses.  The iteration fails if a layer that was
    asked for could not be measured, after the others were output.
    """

    def run(
        self,
        tier: Text,
        pool: Text,
        patterns: list[LayerPatternArgs],
        layers: list[Literal[model.LAYERS]] | None = None,
        host: str | None = None,
        image_pool: str | None = None,
        image: str | None = None,
        flavor: Any = None,
        guests: fleet_arguments.AtLeastOne = 1,
        processes: fleet_arguments.AtLeastOne = 1,
        volume_size_gib: fleet_arguments.AtLeastOne = 1,
        region_mib: fleet_arguments.OneOrNone = None,
        ramp_seconds: fleet_arguments.ZeroOrNone = None,
        runtime_seconds: fleet_arguments.OneOrNone = None,
        settle_seconds: fleet_arguments.PauseSeconds = run_plan.SETTLE_SECONDS,
        drop_caches: bool = True,
        start: fleet_shape.StartArgs | None = None,
        start_volume_type: str | None = None,
        result_folder: str = fleet_arguments.RESULT_FOLDER,
        listen_every_seconds: fleet_arguments.PauseSeconds = (
            fleet_arguments.LISTEN_EVERY_SECONDS
        ),
        tier_mib_per_second: fleet_arguments.OneOrNone = None,
        timeouts_seconds: fleet_arguments.TimeoutArgs | None = None,
    ) -> None:
        """Measure all patterns at one layer, then at the next.

        :param tier: label of the report
        :param pool: pool that keeps the tier's data
        :param patterns: patterns, run at each layer
        :param layers: some of raw, osd, rados, librbd, guest; all by default
        :param host: path of the file that describes the host of Rally
        :param image_pool: pool for headers of images, if pool is erasure coded
        :param image: image of the guests
        :param flavor: flavor of the guests
        :param guests: number of guests that share the iodepth
        :param processes: processes of RADOS bench that share the iodepth
        :param volume_size_gib: size of the guests' boot volumes
        :param region_mib: MiB that are used at each layer
        :param ramp_seconds: seconds that run but do not count
        :param runtime_seconds: seconds that count
        :param settle_seconds: pause after each measurement on the host
        :param drop_caches: whether OSDs drop their caches before reads
        :param start: start of guests, see CinderTiers.fleet_fio
        :param start_volume_type: see CinderTiers.fleet_fio
        :param result_folder: folder of files, on the host of Rally
        :param listen_every_seconds: see CinderTiers.fleet_fio
        :param tier_mib_per_second: see CinderTiers.fleet_fio
        :param timeouts_seconds: see CinderTiers.fleet_fio
        """
        with harmless.errors():
            self._run_layers(
                run_plan.LayersArguments(
                    tier=tier,
                    pool=pool,
                    patterns=patterns,
                    layers=layers,
                    host=host,
                    image_pool=image_pool,
                    image=image,
                    flavor=flavor,
                    guests=guests,
                    processes=processes,
                    volume_size_gib=volume_size_gib,
                    region_mib=region_mib,
                    ramp_seconds=ramp_seconds,
                    runtime_seconds=runtime_seconds,
                    settle_seconds=settle_seconds,
                    drop_caches=drop_caches,
                    start=start,
                    start_volume_type=start_volume_type,
                    result_folder=result_folder,
                    listen_every_seconds=listen_every_seconds,
                    tier_mib_per_second=tier_mib_per_second,
                    timeouts_seconds=timeouts_seconds,
                )
            )

    def _run_layers(self, arguments: run_plan.LayersArguments) -> None:
        plan = run_plan.planned(arguments)
        run_plan.check_host(plan)
        LOG.info(
            'Layers %s, %d patterns; expected to take about %s',
            ', '.join(plan.chosen),
            len(plan.patterns),
            duration.in_words(run_plan.expected_seconds(plan, arguments)),
        )
        folder = store.prepare(arguments.result_folder)
        found: list[model.Measurement] = []
        failures: list[str] = []
        pool = None
        if plan.below_guests:
            layers_ceph.remove_unfinished(folder)
            pool = layers_ceph.find_pool(plan.host.ceph, arguments.pool)
            self._below_guests(
                plan,
                folder,
                _bench(plan, pool, arguments),
                arguments.settle_seconds,
                found,
                failures,
            )
        # What was asked for stands before what the fleet reports.
        of_guests: list[dict] = []
        path = None
        try:
            if 'guest' in plan.chosen:
                measured, path = self._guests(
                    plan, arguments, of_guests, failures
                )
                found += measured
        except Exception as error:
            # They are not in this error.
            for failure in failures:
                LOG.warning('%s', failure)
            found += [
                _of_guests(pattern, None, str(error))
                for pattern in plan.patterns
            ]
            raise
        finally:
            # The layers below took hours, whatever became of the guests.
            try:
                self._report(plan, folder, arguments.tier, pool, found, path)
            finally:
                for output in of_guests:
                    self.add_output(**output)
        if failures:
            raise process.LayerError(
                f'{len(failures)} measurements failed: ' + ' | '.join(failures)
            )

    def _below_guests(
        self,
        plan: run_plan.LayersPlan,
        folder: pathlib.Path,
        bench: measure.Bench,
        settle_seconds: float,
        found: list[model.Measurement],
        failures: list[str],
    ) -> None:
        """Measure all patterns at all layers of this host.

        :param found: gets their measurements
        :param failures: gets a line for each failure, and one if not
            everything that was created can be removed
        """
        is_measured = False
        try:
            with layers_ceph.noted(bench.place, folder) as unremoved:
                self._measure_below_guests(
                    plan, bench, settle_seconds, unremoved, found, failures
                )
                is_measured = True
        except process.LayerError as error:
            if not is_measured:
                # It stands for what ended the measurements, such as Ctrl-C.
                raise
            failures.append(str(error))

    def _measure_below_guests(
        self,
        plan: run_plan.LayersPlan,
        bench: measure.Bench,
        settle_seconds: float,
        unremoved: set[str],
        found: list[model.Measurement],
        failures: list[str],
    ) -> None:
        measures = {
            'raw': measure.raw,
            'osd': measure.osd,
            'rados': functools.partial(measure.rados, unremoved=unremoved),
            'librbd': measure.librbd,
        }
        for layer in plan.below_guests:
            with atomic.ActionTimer(self, f'cinder_tiers.{layer}'):
                if layer == 'librbd' and not _image_is_ready(
                    bench, plan.patterns, found, failures
                ):
                    continue
                for pattern in plan.patterns:
                    found.append(
                        measure.measured(
                            layer,
                            pattern,
                            functools.partial(measures[layer], bench, pattern),
                            failures,
                        )
                    )
                    LOG.info(
                        'Layer %s, %s: %s',
                        layer,
                        pattern.name,
                        found[-1].figures or found[-1].reason,
                    )
                    if found[-1].figures:
                        rally_utils.interruptable_sleep(settle_seconds)

    def _guests(
        self,
        plan: run_plan.LayersPlan,
        arguments: run_plan.LayersArguments,
        outputs: list[dict],
        failures: list[str],
    ) -> tuple[list[model.Measurement], pathlib.Path | None]:
        """Run a fleet.

        :param outputs: gets what the fleet reports, as ``add_output`` takes it
        :param failures: gets a line if the fleet did not do its work
        :returns: measurements of the layer guest, the fleet's result file
        """
        reason, fleet = 'the guests sent no figure', None
        try:
            fleet = fleet_run.FleetRun(
                fleet_run.context(
                    self, run_plan.to_fleet_arguments(plan, arguments)
                ),
                add_output=lambda **output: outputs.append(output),
            )
            fleet.run()
        except servers.FleetError as error:
            reason = str(error)
            failures.append(f'guest: {reason}')
        kept = fleet and fleet.kept
        found = {}
        if kept:
            (tier,) = kept.result.tiers
            found = {each.pattern: each for each in tier.patterns}
        return [
            _of_guests(pattern, found.get(pattern.name), reason)
            for pattern in plan.patterns
        ], kept and kept.path

    def _report(
        self,
        plan: run_plan.LayersPlan,
        folder: pathlib.Path,
        tier: str,
        pool: model.TierPool | None,
        found: Sequence[model.Measurement],
        guests_result: pathlib.Path | None,
    ) -> None:
        judged = model.judge(found, pool)
        for output in layers_report.outputs(tier, judged):
            self.add_output(complete=output)
        path = layers_report.write(
            folder,
            run=uuid.uuid4().hex[:16],
            ended_at=store.now(),
            tier=tier,
            pool=pool,
            method=plan.method,
            judged=judged,
            guests_result=guests_result and str(guests_result),
        )
        LOG.info('The layers are in %s', path)


def _bench(
    plan: run_plan.LayersPlan,
    pool: model.TierPool,
    arguments: run_plan.LayersArguments,
) -> measure.Bench:
    """Return the setting of measurements; nothing is created yet.

    :raises process.LayerError: the pool cannot be measured in this way
    """
    raw = plan.host.raw_disk(pool.device_classes)
    if 'raw' in plan.chosen and raw is None:
        raise process.LayerError(
            f'layer raw: the OSDs of pool {pool.name} are of class'
            f' {" and ".join(pool.device_classes) or "none"}, the host'
            f' file has disks of'
            f' {[disk.device_class for disk in plan.host.raw]}: add one'
            f" of that class, or leave raw out of 'layers'"
        )
    image_pool = arguments.image_pool
    if pool.data_chunks and not image_pool and 'librbd' in plan.chosen:
        raise process.LayerError(
            f'layer librbd: pool {pool.name} is erasure coded and cannot'
            f' hold headers of images: name a replicated one in the'
            f" argument 'image_pool'"
        )
    bench = measure.Bench(
        place=layers_ceph.Place(
            ceph=plan.host.ceph,
            pool=pool.name,
            image_pool=image_pool or pool.name,
            name=f'{layers_ceph.PREFIX}{uuid.uuid4().hex[:16]}',
        ),
        pool=pool,
        raw=raw,
        method=plan.method,
        processes=plan.processes,
        drop_caches=arguments.drop_caches,
    )
    if 'raw' in plan.chosen:
        measure.check_raw(bench)
    return bench


def _image_is_ready(
    bench: measure.Bench,
    patterns: Sequence[fio_pattern.Pattern],
    found: list[model.Measurement],
    failures: list[str],
) -> bool:
    """Make the image; if that fails, so has its layer, and no other."""
    try:
        measure.prepare_image(bench)
    except process.LayerError as error:
        failures.append(f'librbd: {error}')
        found += [
            model.Measurement(
                layer='librbd',
                pattern=pattern,
                figures=None,
                reason=str(error),
            )
            for pattern in patterns
        ]
        return False
    return True


def _of_guests(
    pattern: fio_pattern.Pattern,
    result: run_result.PatternResult | None,
    reason: str,
) -> model.Measurement:
    if result is None or result.iops is None:
        return model.Measurement(
            layer='guest', pattern=pattern, figures=None, reason=reason
        )
    p99_ms = trust.estimate(result.slots, 'p99_ms')
    return model.Measurement(
        layer='guest',
        pattern=pattern,
        figures=model.LayerFigures(
            iops=trust.estimate(result.slots, 'iops').mean,
            bw_bytes=trust.estimate(result.slots, 'mib_per_s').mean * 1024**2,
            p99_ns=None if p99_ms is None else round(p99_ms.mean * 1e6),
            in_flight=pattern.iodepth,
        ),
    )
