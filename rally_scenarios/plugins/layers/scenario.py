# SPDX-License-Identifier: Apache-2.0

"""The scenario that measures the layers below a tier, and guests above them.

Thin: the layers are measured one after another from below, the guests by the
scenario of fleets, whose result file is read; then each is judged by the one
below it.
"""

import functools
from typing import Annotated
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

from rally_scenarios.bench.fleet import duration
from rally_scenarios.bench.layers import model as bench_layers
from rally_scenarios.bench.result import result as result_file
from rally_scenarios.plugins.fleet import arguments as fleet_args
from rally_scenarios.plugins.fleet import scenario as fleet_fio
from rally_scenarios.plugins.layers import ceph as layers_ceph
from rally_scenarios.plugins.layers import measure as layer_runs
from rally_scenarios.plugins.layers import process as host_process
from rally_scenarios.plugins.layers import report as layers_report
from rally_scenarios.plugins.layers import run_plan as layers_plan
from rally_scenarios.plugins.results import reference as result_reference
from rally_scenarios.plugins.results import store as result_files
from rally_scenarios.plugins import servers as cloud_guests

LOG = logging.getLogger(__name__)

Text = Annotated[str, task_scenario.Field(min_length=1)]


class LayerPatternArgs(typing_extensions.TypedDict, closed=True):
    """One pattern for all layers; iodepth is what is in flight in all."""

    name: str
    rw: Literal[bench_layers.WORKLOADS]
    bs: str
    iodepth: fleet_args.AtLeastOne


@types.convert(flavor={'type': 'nova_flavor'})
@validation.add('required_platform', platform='openstack', users=True)
@validation.add('cinder_tiers_layers')
@scenario.configure(
    name='CinderTiers.layers',
    platform='openstack',
    context={'cleanup@openstack': ['cinder', 'nova']},
)
class Layers(fleet_fio.FleetFio):
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
        layers: list[Literal[bench_layers.LAYERS]] | None = None,
        host: str | None = None,
        image_pool: str | None = None,
        image: str | None = None,
        flavor=None,
        guests: fleet_args.AtLeastOne = 1,
        processes: fleet_args.AtLeastOne = 1,
        volume_size_gib: fleet_args.AtLeastOne = 1,
        region_mib: fleet_fio.OneOrNone = None,
        ramp_seconds: fleet_fio.ZeroOrNone = None,
        runtime_seconds: fleet_fio.OneOrNone = None,
        settle_seconds: fleet_fio.PauseSeconds = 5,
        drop_caches: bool = True,
        start_volume_type: str | None = None,
        result_folder: str = result_files.DEFAULT_FOLDER,
        listen_every_seconds: fleet_fio.PauseSeconds = 2,
        tier_mib_per_second: fleet_fio.OneOrNone = None,
        timeouts_seconds: fleet_args.TimeoutArgs | None = None,
    ):
        """Measure all patterns at one layer, then at the next.

        :param tier: label of the report
        :param pool: pool that keeps the tier's data
        :param patterns: run at each layer
        :param layers: some of raw, osd, rados, librbd, guest; all by default
        :param host: path of the file that describes the host of Rally
        :param image_pool: for headers of images, of an erasure coded pool
        :param image: of guests
        :param flavor: of guests
        :param guests: how many share what is in flight
        :param processes: of RADOS bench, which share it, too
        :param volume_size_gib: of the guests' boot volumes
        :param region_mib: MiB that are worked on at each layer
        :param ramp_seconds: run, but not counted
        :param runtime_seconds: counted
        :param settle_seconds: pause after each measurement on the host
        :param drop_caches: whether OSDs drop theirs before reads
        :param start_volume_type: as of CinderTiers.fleet_fio
        :param result_folder: on the host of Rally, for files
        :param listen_every_seconds: as of CinderTiers.fleet_fio
        :param tier_mib_per_second: as of CinderTiers.fleet_fio
        :param timeouts_seconds: as of CinderTiers.fleet_fio
        """
        arguments = dict(locals())
        del arguments['self']
        self._run_layers(arguments)

    def _run_layers(self, arguments):
        plan = layers_plan.planned(arguments)
        layers_plan.check_host(plan)
        LOG.info(
            'Layers %s, %d patterns; expected to take about %s',
            ', '.join(plan.chosen),
            len(plan.patterns),
            duration.in_words(layers_plan.expected_seconds(plan, arguments)),
        )
        folder = result_files.prepare(arguments['result_folder'])
        found, failures, pool = [], [], None
        if plan.below_guests:
            layers_ceph.remove_unfinished(folder)
            pool = layers_ceph.find_pool(plan.host.ceph, arguments['pool'])
            found = self._below_guests(
                plan,
                folder,
                self._bench(
                    plan,
                    pool,
                    arguments['image_pool'],
                    arguments['drop_caches'],
                ),
                arguments['settle_seconds'],
                failures,
            )
        reference = None
        if 'guest' in plan.chosen:
            found += self._guests(
                plan, layers_plan.of_fleet(plan, arguments), failures
            )
            reference = result_reference.named_file(self._output['complete'])
        self._tell(plan, folder, arguments['tier'], pool, found, reference)
        if failures:
            raise host_process.LayerError(
                f'{len(failures)} measurements failed: ' + ' | '.join(failures)
            )

    def _bench(self, plan, pool, image_pool, drop_caches):
        """What measurements share; nothing is made yet.

        :raises host_process.LayerError: the pool cannot be measured so
        """
        raw = plan.host.raw_disk(pool.device_classes)
        if 'raw' in plan.chosen and raw is None:
            raise host_process.LayerError(
                f'layer raw: the OSDs of pool {pool.name} are of class'
                f' {" and ".join(pool.device_classes) or "none"}, the host'
                f' file has disks of'
                f' {[disk.device_class for disk in plan.host.raw]}: add one'
                f" of that class, or leave raw out of 'layers'"
            )
        if pool.data_chunks and not image_pool and 'librbd' in plan.chosen:
            raise host_process.LayerError(
                f'layer librbd: pool {pool.name} is erasure coded and cannot'
                f' hold headers of images: name a replicated one in the'
                f" argument 'image_pool'"
            )
        bench = layer_runs.Bench(
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
            drop_caches=drop_caches,
        )
        if 'raw' in plan.chosen:
            layer_runs.check_raw(bench)
        return bench

    def _below_guests(self, plan, folder, bench, settle_seconds, failures):
        """All patterns at all layers of this host.

        :param failures: gets a line for each that failed
        :returns: their measurements
        """
        found = []
        with layers_ceph.noted(bench.place, folder) as unremoved:
            measures = {
                'raw': layer_runs.raw,
                'osd': layer_runs.osd,
                'rados': functools.partial(
                    layer_runs.rados, unremoved=unremoved
                ),
                'librbd': layer_runs.librbd,
            }
            for layer in plan.below_guests:
                with atomic.ActionTimer(self, f'cinder_tiers.{layer}'):
                    if layer == 'librbd' and not _image_is_ready(
                        bench, plan.patterns, found, failures
                    ):
                        continue
                    for pattern in plan.patterns:
                        found.append(
                            layer_runs.measured(
                                layer,
                                pattern,
                                functools.partial(
                                    measures[layer], bench, pattern
                                ),
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
        return found

    def _guests(self, plan, arguments, failures):
        """Run a fleet as its own scenario does, and read its result file.

        :param arguments: of that scenario
        :param failures: gets a line if the fleet did not do its work
        :returns: measurements of the layer guest
        """
        reason = 'the guests sent no figure'
        try:
            super().run(**arguments)
        except cloud_guests.FleetError as error:
            reason = str(error)
            failures.append(f'guest: {reason}')
        found = {}
        if result_reference.named_file(self._output['complete']):
            (tier,) = result_reference.result(self._output['complete']).tiers
            found = {each.pattern: each for each in tier.patterns}
        return [
            _of_guests(pattern, found.get(pattern.name), reason)
            for pattern in plan.patterns
        ]

    def _tell(self, plan, folder, tier, pool, found, reference):
        judged = bench_layers.judge(found, pool)
        # What was asked for stands before what the fleet had to tell.
        of_guests, self._output['complete'] = self._output['complete'], []
        for output in layers_report.outputs(tier, judged):
            self.add_output(complete=output)
        self._output['complete'] += of_guests
        path = layers_report.write(
            folder,
            run=uuid.uuid4().hex[:16],
            ended_at=result_files.now(),
            tier=tier,
            pool=pool,
            method=plan.method,
            judged=judged,
            guests_result=reference,
        )
        LOG.info('The layers are in %s', path)


def _image_is_ready(bench, patterns, found, failures):
    """Make the image; if that fails, so has its layer, and no other."""
    try:
        layer_runs.prepare_image(bench)
    except host_process.LayerError as error:
        failures.append(f'librbd: {error}')
        found += [
            bench_layers.Measurement(
                layer='librbd',
                pattern=pattern,
                figures=None,
                reason=str(error),
            )
            for pattern in patterns
        ]
        return False
    return True


def _of_guests(pattern, result: result_file.PatternResult | None, reason):
    if result is None or result.iops is None:
        return bench_layers.Measurement(
            layer='guest', pattern=pattern, figures=None, reason=reason
        )
    return bench_layers.Measurement(
        layer='guest',
        pattern=pattern,
        figures=bench_layers.Figures(
            iops=result.iops.mean,
            bw_bytes=result.bw_bytes.mean,
            p99_ns=round(result.p99_ns.mean),
            in_flight=pattern.iodepth,
        ),
    )
