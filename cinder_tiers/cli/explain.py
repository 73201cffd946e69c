# SPDX-License-Identifier: Apache-2.0

"""The command `openstack tier explain`."""

import argparse

from osc_lib.cli import parseractions

from cinder_tiers.cli import base
from cinder_tiers.cli import exit_status
from cinder_tiers.cli import placement_policy
from cinder_tiers.cli.render import explanation as render
from cinder_tiers.domain import errors
from cinder_tiers.domain.explain import existing_volume as explain_volume
from cinder_tiers.domain.explain import explanation
from cinder_tiers.domain.explain import new_volume as explain_create
from cinder_tiers.domain.placement import decision
from cinder_tiers.observe import visible_cloud as placement

#: {outcome: exit status}
STATUSES = {
    explanation.PlacementOutcome.PLACED: exit_status.OK,
    explanation.PlacementOutcome.IN_PLACE: exit_status.OK,
    explanation.PlacementOutcome.NOT_PLACED: exit_status.DIFFERENT,
    explanation.PlacementOutcome.MISPLACED: exit_status.DIFFERENT,
    explanation.PlacementOutcome.OUT_OF_DATE: exit_status.DIFFERENT,
    explanation.PlacementOutcome.UNKNOWN: exit_status.UNKNOWN,
}


class ExplainPlacement(base.StatusShowOne):
    """Show where a volume would go, or should be, and why.

    For an image (or for no image, with --blank): the tier of a new volume, why
    each other tier was not chosen, and whether each backend qualifies, and
    why. For a volume: whether it is where it should be. Uses your permissions
    and changes nothing. Anything your permissions hide is listed; nothing is
    guessed. If Cinder hides the tiers from you, the tags of an image are
    compared with those in the Glance namespace CinderTiers::StorageTiers.
    """

    _epilog = """Exit status: 0 a new volume can be placed, or the volume is
where it should be; 4 the request is refused or no backend qualifies, or the
volume is not where it should be or has the retired type of a tier; 3 your
permissions do not show enough to determine this; 1 an error occurred; 2 a
wrong argument; 6 a service did not answer.

Example: openstack tier explain --image debian -f value -c tier
"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        what = parser.add_mutually_exclusive_group(required=True)
        base.add_name(
            what,
            '--image',
            '<image>',
            'explain a new volume from this image (name or ID)',
        )
        what.add_argument(
            '--blank',
            action='store_true',
            help=('explain a new volume without an image'),
        )
        base.add_name(
            what,
            '--volume',
            '<volume>',
            'explain this existing volume (name or ID)',
        )
        parser.add_argument(
            '--type',
            metavar='<volume-type>',
            type=base.not_empty,
            dest='type_ref',
            help=(
                'assume that the new volume is requested with this volume '
                'type (name or ID)'
            ),
        )
        base.add_name(
            parser,
            '--project',
            '<project>',
            'assume that a member of this project creates the new volume '
            '(name or ID; default: your project; administrators only for '
            'others)',
        )
        parser.add_argument(
            '--property',
            metavar='<key=value>',
            action=parseractions.KeyValueAction,
            dest='metadata',
            help=(
                'assume that the new volume is requested with this property; '
                'it can select a tier if its key is the metadata_key of '
                '[cinder_tiers] (may be repeated)'
            ),
        )
        placement_policy.add_config_file(parser)
        return parser

    def take_action(
        self,
        parsed_args: argparse.Namespace,
    ) -> tuple[tuple[str, ...], tuple[object, ...]]:
        with base.user_errors():
            connection = base.connect(self)
            policy = placement_policy.read(parsed_args.config_file)
            if parsed_args.volume is None:
                shown = self._explain_create(parsed_args, connection, policy)
            else:
                shown = self._explain_volume(parsed_args, connection, policy)
        self.exit_status = STATUSES[shown.explained.outcome]
        return render.explanation_fields(shown)

    @staticmethod
    def _explain_create(
        parsed_args: argparse.Namespace,
        connection: object,
        policy: decision.Policy,
    ) -> render.Shown:
        own = placement.own_project(connection)
        project = own
        if parsed_args.project not in (None, own):
            project = placement.find_project(connection, parsed_args.project)
        known = placement.observe(connection, project=project)
        image = parsed_args.image and placement.find_image(
            connection, parsed_args.image
        )
        if image:
            known = placement.with_published_tags(connection, known)
        requested_type = None
        if parsed_args.type_ref is not None:
            requested_type = known.find_type(parsed_args.type_ref)
            if requested_type is None:
                raise errors.NotVisible(
                    f'volume type {parsed_args.type_ref} does not exist '
                    'or is not visible to this user; see "openstack '
                    'volume type list"'
                )
        question = explain_create.NewVolume(
            project=project,
            image=image or None,
            metadata=parsed_args.metadata or {},
            requested_type=requested_type,
            is_admin=known.is_admin and parsed_args.project is None,
        )
        return render.Shown(
            explained=explain_create.explain_create(
                question=question, known=known, policy=policy
            ),
            project=project,
            image=question.image,
            requested_type=requested_type,
            hidden=known.hidden,
            policy=policy,
            config_files=tuple(parsed_args.config_file),
        )

    @staticmethod
    def _explain_volume(
        parsed_args: argparse.Namespace,
        connection: object,
        policy: decision.Policy,
    ) -> render.Shown:
        of_a_new_volume = (
            parsed_args.type_ref,
            parsed_args.project,
            parsed_args.metadata,
        )
        if any(given is not None for given in of_a_new_volume):
            raise errors.NotVisible(
                '--type, --project and --property describe a new volume and '
                'cannot be used with --volume; leave them out'
            )
        seen = placement.observe_volume(connection, parsed_args.volume)
        return render.Shown(
            explained=explain_volume.explain_volume(
                volume=seen.volume,
                image=seen.image,
                known=seen.known,
                policy=policy,
            ),
            project=seen.volume.project,
            image=seen.image,
            volume=seen.volume,
            hidden=seen.known.hidden,
            policy=policy,
            config_files=tuple(parsed_args.config_file),
        )
