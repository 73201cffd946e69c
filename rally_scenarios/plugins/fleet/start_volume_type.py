# SPDX-License-Identifier: Apache-2.0

"""A volume type for the disk that all guests of a fleet share.

Guests without a network agree on their start through a small volume that is
attached to all of them; Cinder attaches a volume more than once only if its
type has the extra spec ``multiattach`` = ``<is> True``.  Making a type needs
the administrator, so it is done here and not in the scenario.
"""

from oslo_log import log as logging
from rally.common import validation
from rally_openstack.common import consts
from rally_openstack.common import osclients
from rally_openstack.task.cleanup import manager as resource_manager
from rally_openstack.task import context

LOG = logging.getLogger(__name__)

NAME = 'cinder_tiers_start_signal'


@validation.add('required_platform', platform='openstack', admin=True)
@context.configure(name=NAME, platform='openstack', order=415)
class StartSignal(context.OpenStackContext):
    """Make a volume type whose volumes attach to many servers.

    It gets a name that Rally owns and is deleted afterwards.  Only the
    projects that the run's users have may see and use it.  On a cloud
    where only some backends can do multi-attach, or where the shared disk is
    to stay off a measured one, name a backend in ``extra_specs``.
    """

    CONFIG_SCHEMA = {
        'type': 'object',
        '$schema': consts.JSON_SCHEMA,
        'properties': {
            'extra_specs': {
                'type': 'object',
                'description': 'More extra specs of the volume type, such as'
                ' volume_backend_name.',
                'additionalProperties': {'type': 'string'},
            },
        },
        'additionalProperties': False,
    }

    DEFAULT_CONFIG = {'extra_specs': {}}

    def setup(self) -> None:
        """Create the type and leave its name for the scenario."""
        cinder = osclients.Clients(
            self.context['admin']['credential']
        ).cinder()
        volume_type = cinder.volume_types.create(
            self.generate_random_name(),
            description='Shared start disk of a CinderTiers fleet',
            is_public=False,
        )
        volume_type.set_keys(
            {**self.config['extra_specs'], 'multiattach': '<is> True'}
        )
        for project in self.context['tenants']:
            cinder.volume_type_access.add_project_access(volume_type, project)
        self.context[NAME] = {'volume_type': volume_type.name}
        LOG.info('Made volume type %s for start volumes', volume_type.name)

    def cleanup(self) -> None:
        """Delete the type, found by its name."""
        resource_manager.cleanup(
            names=['cinder.volume_types'],
            admin=self.context['admin'],
            superclass=self.__class__,
            task_id=self.get_owner_id(),
        )
