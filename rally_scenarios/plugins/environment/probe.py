# SPDX-License-Identifier: Apache-2.0

"""Probe of a run's environment before and after the measurement.

Adapter: the modules ``openstack`` and ``ceph`` of this folder read the
services; this one decides when, and evaluates the answers.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from oslo_log import log as logging

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain import errors
from cinder_tiers.figures.fleet import guest_system
from cinder_tiers.figures.result import build
from cinder_tiers.figures.result import ceph as ceph_result
from cinder_tiers.figures.result import result as run_result
from rally_scenarios.plugins.environment import ceph as environment_ceph
from rally_scenarios.plugins.environment import openstack
from rally_scenarios.plugins import servers

LOG = logging.getLogger(__name__)

DEFAULT_USER = 'admin'


class TaskCluster:
    """The Ceph cluster that the task names.

    :ivar images: {guest: what it works on}, when it was last looked at
    """

    def __init__(self, conf: str, user: str) -> None:
        """Begin with nothing seen.

        :param conf: path of its ceph.conf
        :param user: cephx user, without ``client.``
        """
        self._cluster = environment_ceph.cluster(conf, user)
        self._unread: list[str] = []
        self._places: dict[str, tuple[str, str]] = {}
        self._before: ceph_result.CephReading | None = None
        self.images: dict[str, ceph_result.CephImage] = {}

    def check(self) -> None:
        """Make sure that it can be read.

        :raises servers.FleetError: it cannot
        """
        try:
            with ceph_session.session(self._cluster) as session:
                environment_ceph.reading(session, pools=())
        except errors.TiersError as error:
            raise servers.FleetError(
                f"the cluster of the argument 'ceph' cannot be read: {error};"
                f' or leave the argument out'
            ) from error

    def _look(self, when: str, look: Callable) -> object:
        """Call a function with a session; return None if it cannot read."""
        try:
            with ceph_session.session(self._cluster) as session:
                return look(session)
        except errors.TiersError as error:
            # What was measured is worth more than this.
            self._unread.append(f'{when} the measurement: {error}')
            LOG.warning('Ceph, %s the measurement: %s', when, error)
            return None

    def look_before(self, volumes: Mapping[str, str]) -> None:
        """Look at the cluster, and for where the volumes lie.

        :param volumes: {guest: id of the volume that it works on}
        """

        def look(session: Any) -> ceph_result.CephReading:
            self._places = environment_ceph.find_images(
                session, set(volumes.values())
            )
            self._look_at_images(session, volumes)
            return environment_ceph.reading(session, self._pools())

        self._before = self._look('before', look)

    def look_after(self, volumes: Mapping[str, str]) -> ceph_result.CephWatch:
        """Read the cluster again.

        :param volumes: the volumes of the first reading
        :returns: both readings
        """

        def look(session: Any) -> ceph_result.CephReading:
            self._look_at_images(session, volumes)
            return environment_ceph.reading(session, self._pools())

        after = self._look('after', look)
        if after is None:
            # They were counted before guests filled them.
            self.images = {
                guest: dataclasses.replace(image, own_objects=None)
                for guest, image in self.images.items()
            }
        return ceph_result.CephWatch(
            before=self._before, after=after, unread=tuple(self._unread)
        )

    def _look_at_images(
        self, session: Any, volumes: Mapping[str, str]
    ) -> None:
        self.images = {
            guest: environment_ceph.image(session, *self._places[volume])
            for guest, volume in volumes.items()
            if volume in self._places
        }

    def _pools(self) -> set[str]:
        return {
            pool
            for image in self.images.values()
            for pool in (image.pool, image.data_pool)
            if pool
        }


def clone_or_flat(
    images: Sequence[ceph_result.CephImage | None],
) -> run_result.Fact:
    """Report whether volumes are clones according to Ceph.

    :param images: image of each guest; None: it is not in the cluster
    """
    text = guest_system.in_one_text(
        None if image is None else 'clone' if image.parent else 'flat'
        for image in images
    )
    return run_result.Fact(
        value=text,
        reason=''
        if text
        else 'the volumes are not in the cluster that the task names',
    )


def ceph_facts(watch: ceph_result.CephWatch) -> dict[str, run_result.Fact]:
    """Return facts of the environment.

    :param watch: readings of the cluster that the task names
    """
    found = watch.after or watch.before
    if found is None:
        unread = run_result.Fact(value=None, reason='; '.join(watch.unread))
        return {'ceph': unread, 'ceph_options': unread}
    options = '; '.join(
        f'{name}: '
        + (
            ', '.join(
                f'{option} {value}'
                for option, value in {
                    **pool.osd_options,
                    **pool.rbd_options,
                }.items()
            )
            or 'defaults'
        )
        for name, pool in sorted(found.pools.items())
    )
    return {
        'ceph': run_result.Fact(
            value=f'{", ".join(found.release)}, {found.health}'
        ),
        'ceph_options': run_result.Fact(
            value=options or None,
            reason=''
            if options
            else 'no volume lies in the cluster that the task names',
        ),
    }


class EnvironmentProbe:
    """Looks at what one run is measured on, before and after it."""

    def __init__(
        self, *, admin: Callable | None, ceph: Mapping | None
    ) -> None:
        """Begin with nothing seen.

        :param admin: gives the administrator's clients by the name of their
            service and its version; None: Rally's environment has none
        :param ceph: the scenario's argument; None: no cluster is named
        :raises servers.FleetError: the cluster cannot be read
        """
        # Now, as an administrator who cannot log in must not cost a result.
        self._cinder = admin and admin('cinder')
        self._nova = admin and admin('nova', servers.NOVA_MICROVERSION)
        self._cluster = ceph and TaskCluster(
            ceph['conf'], ceph.get('user', DEFAULT_USER)
        )
        self._guests: Sequence[servers.Guest] = ()
        self._volumes: Mapping[str, Sequence[str]] = {}
        if self._cluster:
            self._cluster.check()

    def look_before(
        self,
        guests: Sequence[servers.Guest],
        volumes: Mapping[str, Sequence[str]],
    ) -> None:
        """Read Ceph before guests measure.

        :param guests: all guests of the run
        :param volumes: {guest: ids of the volumes on which it works}
        """
        self._guests, self._volumes = guests, volumes
        if self._cluster:
            self._cluster.look_before(self._first_volumes())

    def _first_volumes(self) -> dict[str, str]:
        """Return the first volume of each guest, whose image is read."""
        return {guest: ids[0] for guest, ids in self._volumes.items()}

    def look_after(self) -> build.Environment:
        """Look again, and ask OpenStack, while all is still there."""
        known = self._of_openstack() if self._cinder else (build.NOT_ASKED)
        if not self._cluster:
            return known
        watch = self._cluster.look_after(self._first_volumes())
        images = self._cluster.images
        return dataclasses.replace(
            known,
            images=images,
            ceph=watch,
            facts={
                **known.facts,
                **ceph_facts(watch),
                'clone_or_flat': clone_or_flat(
                    [images.get(guest.name) for guest in self._guests]
                ),
            },
        )

    def _of_openstack(self) -> build.Environment:
        tiers: dict[str, list[str]] = {}
        for guest in self._guests:
            tiers.setdefault(guest.tier, []).extend(self._volumes[guest.name])
        qos, backends = openstack.read_tiers(self._cinder, tiers)
        facts = openstack.read_cloud(
            self._cinder,
            self._nova,
            [guest.server_id for guest in self._guests],
        )
        facts['qos'] = run_result.Fact(
            value='; '.join(
                f'{tier}: {fact.value or fact.reason}'
                for tier, fact in qos.items()
            )
        )
        return build.Environment(
            facts=facts,
            qos=qos,
            backends=backends,
            types=openstack.read_types(self._cinder, tiers),
        )
