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

"""The scheduler door: keeps the backends of the tier that `decide()` chose.

A thin adapter in cinder-scheduler: it reads the request, the applied tiers
and the image, asks `decide()` once for a request, and lets Cinder's own
CapabilitiesFilter match the tier's volume type against the backends. Must
not know any rule of placement. Nothing that fails in here may fail a create
that Cinder alone would have served, unless the operator chose so.
"""

import collections.abc
import dataclasses

from cinder import context as cinder_context
from cinder.scheduler import filters
from cinder.scheduler.filters import capabilities_filter
from oslo_config import cfg
from oslo_log import log as logging

from cinder_tiers import conf
from cinder_tiers.domain import extra_specs
from cinder_tiers.domain import placement
from cinder_tiers.scheduler import applied as applied_tiers
from cinder_tiers.scheduler import image as images

LOG = logging.getLogger(__name__)

conf.register(cfg.CONF)

#: Keys of a request spec that name what already fixes the place of a volume.
_FIXED_BY = ('snapshot_id', 'source_volid', 'source_replicaid',
             'cgsnapshot_id', 'consistencygroup_id', 'group_id',
             'resource_backend')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Create:
    """The create of a volume whose place nothing else fixes."""

    context: cinder_context.RequestContext
    volume_id: str
    project: str
    image_id: str | None
    follows_image: bool


class TierFilter(filters.BaseBackendFilter):
    """Keeps the backends of the tier that the image of a volume asks for."""

    def filter_all(self, filter_obj_list: collections.abc.Iterable,
                   filter_properties: dict) -> list:
        """The backends that may take the volume.

        :param filter_obj_list: states of the backends that are left.
        :param filter_properties: of the request, as FilterScheduler fills
            them in.
        :returns: those of the tier; all of them for a request that is not
            ours; none when no tier may serve it.
        """
        backends = list(filter_obj_list)
        create = None
        try:
            create = read_create(filter_properties)
            if create is None:
                return backends
            return self._place(backends, create)
        # An exception that leaves here would leave the volume in a state that
        # only an admin can reset.
        except Exception as error:  # noqa: BLE001
            decision = self._on_error(error, create, ())
            return [] if (
                decision.verdict is placement.Verdict.REFUSED) else backends

    def _place(self, backends: list, create: Create) -> list:
        applied = applied_tiers.AppliedTiers()
        if create.follows_image:
            applied = applied_tiers.read_applied(create.context)
        for problem in applied.problems:
            LOG.warning('Tier left out: %s', problem)
        try:
            decision = placement.decide(
                tiers=applied.tiers, request=placement.Request(
                    project=create.project,
                    follows_image=create.follows_image,
                    image=self._image(create, applied)))
        except Exception as error:  # noqa: BLE001 - the door, see above
            decision = self._on_error(error, create, applied.tiers)
        kept = self._keep(backends, decision, applied)
        LOG.info('Placement of volume %(volume)s of project %(project)s '
                 '(request %(request)s): %(decision)s. Kept %(kept)d of '
                 '%(all)d backends.',
                 {'volume': create.volume_id, 'project': create.project,
                  'request': create.context.request_id, 'decision': decision,
                  'kept': len(kept), 'all': len(backends)})
        return kept

    @staticmethod
    def _image(create: Create,
               applied: applied_tiers.AppliedTiers) -> placement.Image | None:
        """The image, unless there is none or it could not change a thing."""
        if not create.image_id or not applied.tiers:
            return None
        options = cfg.CONF[conf.GROUP]
        return images.read_image(create.context, create.image_id,
                                 timeout_s=options.glance_timeout,
                                 max_calls=options.glance_max_calls)

    @staticmethod
    def _keep(backends: list, decision: placement.PlacementDecision,
              applied: applied_tiers.AppliedTiers) -> list:
        if decision.verdict is placement.Verdict.REFUSED:
            return []
        if decision.verdict is placement.Verdict.UNTOUCHED:
            return backends
        matcher = capabilities_filter.CapabilitiesFilter()
        specs = {'resource_type':
                 {'extra_specs': applied.specs[decision.tier.name]}}
        return [backend for backend in backends
                if matcher.backend_passes(backend, specs)]

    @staticmethod
    def _on_error(error: Exception, create: Create | None,
                  tiers: tuple[placement.AppliedTier, ...]
                  ) -> placement.PlacementDecision:
        """The operator's choice; says once what went wrong."""
        on_error = placement.OnError(cfg.CONF[conf.GROUP].on_error)
        # The way to an error of Glance says nothing; to a bug it does.
        expected = isinstance(error, images.ImageUnreadable)
        LOG.error('No tier could be told for volume %(volume)s (request '
                  '%(request)s): %(error)s. [cinder_tiers] on_error = '
                  '%(on_error)s applies.',
                  {'volume': create and create.volume_id,
                   'request': create and create.context.request_id,
                   'error': error if expected else type(error).__name__,
                   'on_error': on_error.value}, exc_info=not expected)
        return placement.decide_on_error(
            on_error=on_error, tiers=tiers,
            project=create.project if create else '')


def read_create(filter_properties: dict) -> Create | None:
    """The request, or None for one that is not ours.

    Ours is the create of a volume, blank or from an image or a backup. What
    works on a volume that exists (extend, retype, migrate, manage, snapshot)
    carries its `operation` and no image; clones, volumes from snapshots and
    members of groups go where their source or group is.

    :param filter_properties: as FilterScheduler fills them in.
    """
    spec = filter_properties['request_spec']
    if (spec.get('operation') not in (None, 'create_volume')
            or not spec.get('volume_id')
            or any(spec.get(key) for key in _FIXED_BY)):
        return None
    context = filter_properties['context']
    volume_type = filter_properties.get('resource_type')
    return Create(
        context=context, volume_id=spec['volume_id'],
        project=(spec['volume_properties'].get('project_id')
                 or context.project_id),
        image_id=spec.get('image_id'),
        follows_image=not volume_type or extra_specs.follows_image(
            volume_type.get('extra_specs') or {}))
