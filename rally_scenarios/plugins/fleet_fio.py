# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The scenario that measures tiers with fleets of guests.

Thin: it turns arguments into a schedule, has the guests made, listens to
their consoles until they are done, and hands over what came of it.  Deciding
is done in ``guest.verdict``, figures in ``bench``, output in ``report``.
"""

from typing import Annotated
from typing import Literal
import uuid

from cinderclient import exceptions as cinder_exceptions
from novaclient import exceptions as nova_exceptions
from oslo_log import log as logging
from rally.common import validation
from rally.task import atomic
from rally.task import scenario as task_scenario
from rally.task import types
from rally_openstack.common import consts
from rally_openstack.task import scenario
import typing_extensions

from rally_scenarios.bench import fio_profile
from rally_scenarios.bench import schedule
from rally_scenarios.guest import orders
from rally_scenarios.guest import verdict
from rally_scenarios.plugins import cloud_guests
from rally_scenarios.plugins import listening
from rally_scenarios.plugins import report
from rally_scenarios.plugins import start_signal

LOG = logging.getLogger(__name__)

_TIMEOUTS_SECONDS = {"volumes": 300, "boot": 300, "prepare": 180,
                     "ready": 240, "end": 30}

AtLeastOne = Annotated[int, task_scenario.Field(ge=1)]
ZeroOrMore = Annotated[int, task_scenario.Field(ge=0)]
PauseSeconds = Annotated[float, task_scenario.Field(ge=0)]


class FleetArgs(typing_extensions.TypedDict, closed=True):
    """One tier's part of the fleet."""

    tier: Annotated[str, task_scenario.Field(min_length=1)]
    image: Annotated[str, task_scenario.Field(min_length=1)]


class PatternArgs(typing_extensions.TypedDict, closed=True):
    """One pattern, see bench.fio_profile.Pattern."""

    name: str
    rw: Literal[fio_profile.WORKLOADS]
    bs: str
    iodepth: AtLeastOne


class TimeoutArgs(typing_extensions.TypedDict, closed=True, total=False):
    """How long to wait, in seconds.

    volumes: for all volumes to become available, and to be deleted;
    boot: for one server to get its disks, and for all to become active;
    prepare: for a guest to fill its region;
    ready: how long the leading guest waits for the others, from when its own
    script began;
    end: for the last results, after the end of the schedule.
    """

    volumes: AtLeastOne
    boot: AtLeastOne
    prepare: AtLeastOne
    ready: AtLeastOne
    end: AtLeastOne


@types.convert(flavor={"type": "nova_flavor"})
@validation.add("required_services", services=[
    consts.Service.CINDER, consts.Service.GLANCE, consts.Service.NOVA])
@validation.add("required_platform", platform="openstack", users=True)
@scenario.configure(name="CinderTiers.fleet_fio", platform="openstack",
                    context={"cleanup@openstack": ["cinder", "nova"]})
class FleetFio(scenario.OpenStackScenario):
    """Measure tiers with fio inside guests that boot from them."""

    def run(self, fleets: list[FleetArgs], patterns: list[PatternArgs],
            flavor, guests_per_tier: AtLeastOne = 3,
            volume_size_gib: AtLeastOne = 1, region_mib: AtLeastOne = 32,
            ramp_seconds: ZeroOrMore = 5, runtime_seconds: AtLeastOne = 6,
            ioengine: str = "libaio", start_volume_type: str | None = None,
            late_after_ms: AtLeastOne = 500,
            listen_every_seconds: PauseSeconds = 2,
            timeouts_seconds: TimeoutArgs | None = None):
        """Boot all guests once, then let each tier run each pattern in turn.

        Boot volumes are made by Cinder from the given images without naming
        a volume type: where they land is what is to be measured.  Guests
        need no network: orders come by config drive, results by the console.
        The iteration fails if any guest is not complete, after the others'
        figures were output.

        :param fleets: tiers (labels of the report) and the image of each
        :param patterns: fio patterns, run one after another
        :param flavor: flavor of all guests
        :param guests_per_tier: servers of each tier
        :param volume_size_gib: size of the boot volumes
        :param region_mib: MiB that each guest fills and then works on
        :param ramp_seconds: run, but not counted
        :param runtime_seconds: counted
        :param ioengine: fio's engine in the guest
        :param start_volume_type: volume type with multi-attach, by default
            the one that the context cinder_tiers_start_signal made
        :param late_after_ms: a start further from its time does not count
        :param listen_every_seconds: pause between readings of the consoles
        :param timeouts_seconds: see TimeoutArgs
        """
        profile = fio_profile.Profile(
            region_mib=region_mib, ramp_seconds=ramp_seconds,
            runtime_seconds=runtime_seconds, ioengine=ioengine)
        plan = schedule.plan(
            [fleet["tier"] for fleet in fleets],
            [fio_profile.Pattern(**each) for each in patterns], profile)
        start_type = self._start_volume_type(start_volume_type)
        images = cloud_guests.find_images(
            self.clients("glance"), [fleet["image"] for fleet in fleets])
        tiers = [(fleet["tier"], images[fleet["image"]])
                 for fleet in fleets for _ in range(guests_per_tier)]
        outcomes = self._run_fleet(
            plan, profile, tiers, flavor, volume_size_gib, start_type,
            late_after_ms, listen_every_seconds,
            {**_TIMEOUTS_SECONDS, **(timeouts_seconds or {})})
        self._fail_unless_complete(outcomes)

    def _run_fleet(self, plan, profile, tiers, flavor_id, size_gib,
                   start_type, late_after_ms, pause_seconds, timeouts):
        """Make the fleet, measure, hand over, and delete it in any case.

        :param tiers: [(tier, image id), ...], one for each guest
        :returns: outcomes of all guests
        """
        volumes: list[str] = []
        servers: list[str] = []
        try:
            self._create_volumes(tiers, volumes, size_gib, start_type,
                                 timeouts["volumes"])
            fleet_orders = orders.FleetOrders(
                run=uuid.uuid4().hex[:16], guests=len(tiers), schedule=plan,
                profile=profile, start_serial=volumes[0],
                prep_seconds=timeouts["prepare"],
                ready_seconds=timeouts["ready"])
            guests = self._boot(fleet_orders, tiers, volumes, servers,
                                flavor_id, timeouts["boot"])
            outcomes, texts = self._measure(
                fleet_orders, guests, late_after_ms, pause_seconds, timeouts)
            self._hand_over(plan, outcomes, texts)
        finally:
            self._delete(servers, volumes, timeouts["volumes"])
        return outcomes

    @property
    def _nova(self):
        return self.clients("nova", version=cloud_guests.NOVA_MICROVERSION)

    def _start_volume_type(self, named: str | None) -> str:
        made = self.context.get(start_signal.NAME, {}).get("volume_type")
        if not (named or made):
            raise cloud_guests.FleetError(
                f"no volume type for the start volume: add the context"
                f" {start_signal.NAME}, or name a type with multi-attach in"
                f" the argument start_volume_type")
        return named or made

    def _create_volumes(self, tiers, volumes, size_gib, start_volume_type,
                        timeout_seconds):
        """Fill ``volumes`` with ids: the start volume, then one per guest."""
        cinder = self.clients("cinder")
        with atomic.ActionTimer(self, "cinder_tiers.create_volumes"):
            volumes.append(cinder.volumes.create(
                1, name=self.generate_random_name(),
                volume_type=start_volume_type).id)
            for _tier, image_id in tiers:
                volumes.append(cinder.volumes.create(
                    size_gib, name=self.generate_random_name(),
                    imageRef=image_id).id)
            cloud_guests.wait_for_volumes(cinder, volumes, timeout_seconds)
        LOG.info("%d boot volumes are available", len(tiers))

    def _boot(self, fleet_orders, tiers, volumes, servers, flavor_id,
              timeout_seconds) -> list[cloud_guests.Guest]:
        """Boot all guests, adding to ``servers`` as they are made."""
        nova, cinder = self._nova, self.clients("cinder")
        guests = []
        with atomic.ActionTimer(self, "cinder_tiers.boot_guests"):
            for number, (tier, _image_id) in enumerate(tiers):
                servers.append(cloud_guests.create_server(
                    nova, name=self.generate_random_name(),
                    flavor_id=flavor_id, volume_id=volumes[1 + number],
                    start_volume_id=volumes[0], user_data=orders.script(
                        fleet_orders, number=number, tier=tier,
                        environment=orders.GuestEnvironment())))
                cloud_guests.wait_for_attachment(
                    nova, cinder, server_id=servers[-1],
                    start_volume_id=volumes[0],
                    timeout_seconds=timeout_seconds)
                guests.append(cloud_guests.Guest(
                    name=orders.guest_name(number), tier=tier,
                    server_id=servers[-1]))
                LOG.info("Guest %s of tier %s is server %s",
                         guests[-1].name, tier, servers[-1])
            cloud_guests.wait_for_servers(nova, servers, timeout_seconds)
        return guests

    def _measure(self, fleet_orders, guests, late_after_ms, pause_seconds,
                 timeouts):
        """Listen until all is said.

        :returns: outcomes of all guests, {guest name: its console}
        """
        ears = listening.Listener(nova=self._nova, run=fleet_orders.run,
                                  guests=guests, pause_seconds=pause_seconds)
        with atomic.ActionTimer(self, "cinder_tiers.prepare_guests"):
            leads = ears.listen_for_start(
                timeouts["ready"] + timeouts["prepare"])
        if leads:
            with atomic.ActionTimer(self, "cinder_tiers.measure"):
                ears.listen_to_end(
                    fleet_orders.beacon_seconds + fleet_orders.lead_seconds
                    + fleet_orders.schedule.seconds + timeouts["end"])
        else:
            LOG.warning("The leading guest gave no start; not waiting for"
                        " the others")
        return [verdict.judge(
            ears.heard(guest), guest=guest.name, tier=guest.tier,
            plan=fleet_orders.schedule, late_after_ms=late_after_ms)
            for guest in guests], ears.texts

    def _hand_over(self, plan, outcomes, texts):
        for output in report.complete_outputs(plan, outcomes):
            self.add_output(complete=output)
        additive = report.additive_output(plan, outcomes)
        if additive is not None:
            self.add_output(additive=additive)
        bad = {o.guest: texts.get(o.guest, "") for o in outcomes
               if o.verdict is not verdict.Verdict.COMPLETE}
        if bad:
            self.add_output(complete=report.console_output(bad))
        for guest, text in bad.items():
            LOG.warning("Guest %s is not complete; its console ends:\n%s",
                        guest, "\n".join(report.last_lines(text)))

    def _delete(self, servers, volumes, timeout_seconds):
        """Servers first, they hold the volumes; Rally's cleanup is the net."""
        with atomic.ActionTimer(self, "cinder_tiers.delete"):
            try:
                cloud_guests.delete(self._nova.servers, servers,
                                    nova_exceptions.NotFound,
                                    timeout_seconds)
                cloud_guests.delete(self.clients("cinder").volumes, volumes,
                                    cinder_exceptions.NotFound,
                                    timeout_seconds)
            except (cloud_guests.FleetError, nova_exceptions.ClientException,
                    cinder_exceptions.ClientException) as error:
                # Raised, it would hide why the iteration failed.
                LOG.warning("Left to Rally's cleanup: %s", error)

    def _fail_unless_complete(self, outcomes):
        bad = [f"{o.guest} ({o.tier}): {o.verdict.value}:"
               f" {'; '.join(o.reasons)}" for o in outcomes
               if o.verdict is not verdict.Verdict.COMPLETE]
        if bad:
            raise cloud_guests.FleetError(
                f"{len(bad)} of {len(outcomes)} guests are not complete: "
                + " | ".join(bad))
