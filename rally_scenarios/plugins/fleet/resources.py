# SPDX-License-Identifier: Apache-2.0

"""Cloud resources of a fleet: created, booted, deleted.

It knows the order in which resources are created and which of them exist, so
that all can be deleted whatever happens between.  ``servers`` sends single
requests; the work of guests is in their orders.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import functools
import itertools
from typing import Any

from cinderclient import exceptions as cinder_exceptions
from novaclient import exceptions as nova_exceptions
from oslo_log import log as logging

from cinder_tiers.figures.result import result as run_result
from rally_scenarios.guest import next_orders
from rally_scenarios.guest import orders
from rally_scenarios.plugins import at_once
from rally_scenarios.plugins.fleet import kept
from rally_scenarios.plugins.fleet import orders_disk
from rally_scenarios.plugins.fleet import progress
from rally_scenarios.plugins.fleet import shape as fleet_shape
from rally_scenarios.plugins.results import store
from rally_scenarios.plugins import servers

LOG = logging.getLogger(__name__)


class FleetResources:
    """Volumes, server groups and servers of one fleet.

    Of what does not wait for each other, some is asked for at the same time,
    see ``at_once``.

    :ivar start_volume: id of the volume that gives the start; empty if there
        is none
    :ivar orders_key: see ``kept.KeptFleet``
    :ivar types_of_guests: of each guest, the volume types of what fio works
        on, None for none; empty until they are made
    """

    def __init__(
        self,
        *,
        cinder: Any,
        nova: Any,
        new_name: Callable[[], str],
        shape: fleet_shape.GuestShape,
        image_ids: Mapping[str, str],
        tiers: Sequence[str],
        server_options: Mapping[str, Any] = servers.NO_NETWORK,
    ) -> None:
        """Define the resources; none is created yet.

        :param cinder: cinderclient
        :param nova: novaclient with ``servers.NOVA_MICROVERSION``
        :param new_name: returns names that Rally's cleanup recognizes, or, for
            a fleet that is kept, names that it does not
        :param image_ids: {name: id} of all images of the fleet
        :param tiers: tier of each guest
        :param server_options: see ``servers.create_server``
        """
        self._server_options = dict(server_options)
        if shape.compute_zone is not None:
            self._server_options['availability_zone'] = shape.compute_zone
        self._cinder = cinder
        self._nova = nova
        self._new_name = new_name
        self._shape = shape
        self._image_ids = image_ids
        self._tiers = tuple(tiers)
        self.start_volume = ''
        self.orders_key = next_orders.new_key()
        self.types_of_guests: list[tuple[str | None, ...]] = []
        self._volumes: list[str] = []
        # One for each guest.
        self._boot_volumes: list[str] = []
        self._data_volumes: list[tuple[str, ...]] = []
        self._servers: list[str] = []
        self._groups: list[str] = []
        self._group_of_tier: dict[str, str] = {}
        self._most_in_group: float = 0
        self._orders_disk: orders_disk.OrdersDisk | None = None

    def images(self) -> dict[str, run_result.Fact]:
        """{tier: the image that its volumes are made from}."""
        return {
            tier: run_result.Fact(value=f'{name} ({self._image_ids[name]})')
            for tier, name in self._shape.image_of_tier.items()
        }

    def _create_volume(self, size_gib: int, **options: str) -> str:
        if self._shape.volume_zone is not None:
            options['availability_zone'] = self._shape.volume_zone
        return self._cinder.volumes.create(
            size_gib, name=self._new_name(), **options
        ).id

    def measured(self) -> dict[str, tuple[str, ...]]:
        """{guest: ids of the volumes that fio works on}."""
        return {
            orders.guest_name(number): volumes
            for number, volumes in enumerate(
                self._data_volumes
                or [(volume,) for volume in self._boot_volumes]
            )
        }

    def create_volumes(
        self, *, start_volume_type: str | None, timeout_seconds: float
    ) -> dict[str, run_result.Fact]:
        """Make the start volume, then those of each guest.

        :param start_volume_type: None: no start volume is needed
        :returns: {tier: types that Cinder gave the volumes fio works on}
        :raises servers.FleetError: one ended in an error, or it took
            too long
        """
        if start_volume_type is not None:
            self.start_volume = self._create_volume(
                1, volume_type=start_volume_type
            )
            self._volumes.append(self.start_volume)
        of_guests = [self._makers_of_volumes(tier) for tier in self._tiers]
        made = iter(
            at_once.make_all(
                list(itertools.chain.from_iterable(of_guests)), self._volumes
            )
        )
        for makers in of_guests:
            boot, *data = itertools.islice(made, len(makers))
            self._boot_volumes.append(boot)
            if data:
                self._data_volumes.append(tuple(data))
        servers.wait_for_volumes(self._cinder, self._volumes, timeout_seconds)
        LOG.info('%d volumes are available', len(self._volumes))
        return self._types_of_tiers()

    def _makers_of_volumes(self, tier: str) -> list[Callable[[], str]]:
        """Return creators of a guest's volumes, the boot volume first."""
        volumes = self._shape.tiers[tier]
        boot = functools.partial(
            self._create_volume,
            self._shape.boot_gib,
            imageRef=self._image_ids[volumes.boot_image],
        )
        if not self._shape.has_data:
            return [boot]
        data = functools.partial(
            self._create_volume,
            self._shape.data_gib,
            **(
                {'volume_type': volumes.blank_type}
                if volumes.blank_type is not None
                else {'imageRef': self._image_ids[volumes.image]}
            ),
        )
        return [boot, *[data] * self._shape.measured_per_guest]

    def _types_of_tiers(self) -> dict[str, run_result.Fact]:
        """{tier: types that Cinder gave the volumes fio works on}."""
        self.types_of_guests = [
            tuple(servers.volume_types(self._cinder, volumes))
            for volumes in self.measured().values()
        ]
        return {
            tier: store.volume_types_fact(
                name
                for of_tier, names in zip(
                    self._tiers, self.types_of_guests, strict=True
                )
                if of_tier == tier
                for name in names
            )
            for tier in self._tiers
        }

    def boot(
        self,
        fleet_orders: orders.FleetOrders,
        *,
        flavor_id: str,
        timeout_seconds: float,
    ) -> list[servers.Guest]:
        """Boot all guests, one after another only if they share a volume.

        :raises servers.FleetError: one ended in an error, or it took
            too long
        """
        if self._shape.spread:
            self._create_groups()
        asks = [
            functools.partial(
                self._create_server,
                number,
                flavor_id=flavor_id,
                user_data=script,
            )
            for number, script in enumerate(self._scripts(fleet_orders))
        ]
        if self.start_volume:
            self._boot_in_turn(asks, timeout_seconds)
        else:
            self._boot_at_once(asks)
        servers.wait_for_servers(self._nova, self._servers, timeout_seconds)
        return self._guests()

    def _boot_in_turn(
        self, asks: Sequence[Callable[[], str]], timeout_seconds: float
    ) -> None:
        """Ask for a server when the one before has the start volume."""
        for number, ask in enumerate(asks):
            self._servers.append(ask())
            progress.part_done('Servers asked for', number, len(asks))
            servers.wait_for_attachment(
                self._nova,
                self._cinder,
                server_id=self._servers[-1],
                start_volume_id=self.start_volume,
                timeout_seconds=timeout_seconds,
            )

    def _boot_at_once(self, asks: Sequence[Callable[[], str]]) -> None:
        """Ask for all servers, for some of them at the same time.

        Nova looks at the volumes of each before it answers.
        """
        at_once.make_all(
            asks,
            self._servers,
            hear_done=lambda number: progress.part_done(
                'Servers asked for', number, len(asks)
            ),
        )

    def _position(self, number: int) -> int:
        """Return the position of a guest in its tier, from 0."""
        return self._tiers[:number].count(self._tiers[number])

    def _scripts(self, fleet_orders: orders.FleetOrders) -> list[str]:
        """The script of each guest."""
        return [
            orders.script(
                fleet_orders,
                number=number,
                tier=tier,
                position=self._position(number),
                data_serials=self._data_volumes[number]
                if self._data_volumes
                else (),
                environment=orders.GuestEnvironment(),
            )
            for number, tier in enumerate(self._tiers)
        ]

    def _guests(self) -> list[servers.Guest]:
        hosts = servers.hosts(self._nova, self._servers)
        return [
            servers.Guest(
                name=orders.guest_name(number),
                tier=tier,
                server_id=server_id,
                position=self._position(number),
                host=hosts[number],
            )
            for number, (tier, server_id) in enumerate(
                zip(self._tiers, self._servers, strict=True)
            )
        ]

    def adopt(self, fleet: kept.KeptFleet) -> dict[str, run_result.Fact]:
        """Take over a fleet that was kept, instead of creating one.

        :param fleet: kept fleet with as many guests of each tier
        :returns: see ``create_volumes``
        :raises servers.FleetError: a server is not active; or a resource is
            gone, and then nothing is taken over
        """
        volumes = [
            fleet.start_volume,
            *fleet.boot_volumes,
            *(each for found in fleet.data_volumes for each in found),
        ]
        try:
            for server_id in fleet.servers:
                self._nova.servers.get(server_id)
            for volume_id in volumes:
                self._cinder.volumes.get(volume_id)
        except (
            nova_exceptions.NotFound,
            cinder_exceptions.NotFound,
        ) as error:
            # It may be whole, in another project: nothing of it is deleted.
            raise servers.FleetError(
                f'a part of the kept fleet {fleet.name!r} is gone, or '
                f'belongs to another project: {error}; if it is not '
                f'another project, {kept.how_to_delete(fleet.name)}'
            ) from error
        self._volumes = volumes
        self.start_volume = fleet.start_volume
        self._servers = list(fleet.servers)
        self._boot_volumes = list(fleet.boot_volumes)
        self._data_volumes = list(fleet.data_volumes)
        self._groups = list(fleet.groups)
        self.orders_key = fleet.orders_key
        servers.check_active(self._nova, self._servers)
        return self._types_of_tiers()

    def order_again(
        self,
        fleet_orders: orders.FleetOrders,
        *,
        glance: Any,
        new_name: Callable[[], str],
        timeout_seconds: float,
        volume_type: str,
    ) -> list[servers.Guest]:
        """Give guests that wait the orders of another run.

        One of them gets a disk with them, which it shows to all others.

        :param glance: glanceclient v2
        :param new_name: gives names that Rally's cleanup knows as its own
        :raises servers.FleetError: it took too long, or Nova refuses
        """
        self._orders_disk = orders_disk.OrdersDisk(
            glance=glance,
            cinder=self._cinder,
            nova=self._nova,
            new_name=new_name,
        )
        self._orders_disk.attach(
            next_orders.disk_content(
                fleet_orders.run,
                self._scripts(fleet_orders),
                key=self.orders_key,
            ),
            server_id=self._servers[0],
            volume_type=volume_type,
            zone=self._shape.volume_zone,
            timeout_seconds=timeout_seconds,
        )
        return self._guests()

    def take_orders_back(self, timeout_seconds: float) -> None:
        """Delete the disk of ``order_again``, if there is one."""
        if self._orders_disk is not None:
            self._orders_disk.delete(timeout_seconds)
            self._orders_disk = None

    def made_of(self) -> dict[str, Any]:
        """Return the resources, by the fields of ``kept.KeptFleet``."""
        return {
            'start_volume': self.start_volume,
            'servers': tuple(self._servers),
            'boot_volumes': tuple(self._boot_volumes),
            'data_volumes': tuple(self._data_volumes),
            'groups': tuple(self._groups),
        }

    def _create_groups(self) -> None:
        """A group for each tier: tiers take turns, so each is to be spread."""
        try:
            self._most_in_group = servers.most_in_server_group(self._nova)
        except servers.FleetError as error:
            LOG.warning('Guests of a tier may share hosts: %s', error)
            return
        for tier in dict.fromkeys(self._tiers):
            if self._tiers.count(tier) > self._most_in_group:
                LOG.warning(
                    'The guests of tier %s from the %d. on may share hosts:'
                    ' the quota server_group_members of Nova is %d',
                    tier,
                    self._most_in_group + 1,
                    self._most_in_group,
                )
            try:
                self._groups.append(
                    servers.create_server_group(self._nova, self._new_name())
                )
            except servers.FleetError as error:
                LOG.warning(
                    'Guests of tier %s may share hosts: %s', tier, error
                )
                continue
            self._group_of_tier[tier] = self._groups[-1]

    def _create_server(self, number: int, **request: Any) -> str:
        data = self._data_volumes[number] if self._data_volumes else ()
        start = [self.start_volume] if self.start_volume else []
        server_id = servers.create_server(
            self._nova,
            name=self._new_name(),
            volume_ids=[self._boot_volumes[number], *start, *data],
            options=self._server_options,
            group_id=self._group_of_tier.get(self._tiers[number])
            if self._position(number) < self._most_in_group
            else None,
            **request,
        )
        LOG.debug(
            'Guest %s of tier %s is server %s',
            orders.guest_name(number),
            self._tiers[number],
            server_id,
        )
        return server_id

    def delete(self, timeout_seconds: float) -> str:
        """Servers first, they hold the rest.

        :returns: why something is left, empty if all is gone: raised, it would
            hide why an iteration failed
        """
        try:
            servers.delete(
                self._nova.servers,
                self._servers,
                nova_exceptions.NotFound,
                timeout_seconds,
            )
            servers.delete(
                self._nova.server_groups,
                self._groups,
                nova_exceptions.NotFound,
                timeout_seconds,
            )
            servers.delete(
                self._cinder.volumes,
                self._volumes,
                cinder_exceptions.NotFound,
                timeout_seconds,
            )
        except (servers.FleetError, *servers.REQUEST_FAILED) as error:
            return f'{error}'
        return ''
