# SPDX-License-Identifier: Apache-2.0

"""`openstack tier publish`: what was measured, for those who choose a tier."""

import argparse
import collections.abc
import contextlib
import datetime
import types
import typing

from cinder_tiers.cli import base
from cinder_tiers.cli import exit_status
from cinder_tiers.cli import lock
from cinder_tiers.cli.render import cells
from cinder_tiers.cli import results
from cinder_tiers.cli import results_command
from cinder_tiers.domain.card import card as cards
from cinder_tiers.domain.card import description as descriptions
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.resources import registry
from cinder_tiers.domain.resources import volume_type as volume_type_kind
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.files.tiers import reader
from cinder_tiers import workflow

if typing.TYPE_CHECKING:
    from cinder_tiers.loop.publish import choice

_COLUMNS = ('Tier', 'State', 'Before', 'After', 'Remarks')
_REFUSED, _PLANNED, _PUBLISHED = 'not published', 'planned', 'published'
_AS_IT_IS, _FAILED = 'published already', 'failed'


class PublishFigures(base.CatalogLister):
    """Publish figures of result files as the cards of their tiers.

    Writes what "rally task" measured into the descriptions of the tiers'
    volume types, behind the words of the tiers file and what it promises,
    where all see it who may use the type: "tier list", "volume type show",
    Horizon. Leaves out what is not to be trusted, and says why. Refuses a
    result of another volume type, pool or release of Ceph, of a tier that
    changed since, of OSDs that were not there yet, or older than the figures
    of the card, and a cloud that is not as the tiers file says. Shows the
    descriptions and asks at a terminal; elsewhere changes nothing without
    --yes. Can be repeated at any time. When what the figures depend on
    changes, "tier audit" says so, and "tier apply" takes them out. Needs
    Cinder's admin rights.
    """

    _epilog = """Exit status: 0 the cards are as the results say; 4 they are
not, and nothing was changed; 5 of some tiers no figure is to be trusted, and
all else was published; 1 an error occurred, a result does not fit the cloud,
or you did not confirm; 2 a wrong argument; 6 a service did not answer.

Example: openstack tier publish result.json --tier database
"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        results.add_files(parser)
        base.add_names(
            parser,
            '--tier',
            '<tier>',
            'publish only this tier (may be repeated; default: all '
            'tiers of the results)',
        )
        base.add_yes(parser, '')
        lock.add(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> cells.Shown:
        """Reads, observes, asks, writes and shows.

        Expected failures end as CommandError of OSC.
        """
        chooser = results_command.load(
            'cinder_tiers.loop.publish.choice',
            command='tier publish',
            extra='rally',
        )
        with base.user_errors():
            catalog = reader.read_file(
                parsed_args.catalog, include_root=parsed_args.include_root
            )
            runs = results.read_all(parsed_args.results)
            chosen = chooser.choose(
                runs,
                catalog,
                parsed_args.tier,
                now=datetime.datetime.now(datetime.UTC),
            )
            planned: list[actions.Action] = []

            def agree(found: tuple[actions.Action, ...]) -> bool:
                planned.extend(found)
                return self._is_agreed(found, parsed_args)

            done = workflow.publish(
                connection=base.connect(self),
                catalog=catalog,
                measured=lambda actual, plan: _measured(
                    chooser, chosen, runs, catalog, actual, plan
                ),
                lock=lock.of(parsed_args),
                agree=agree,
                report=self._report,
            )
        type_names = {tier.name: tier.type_name for tier in catalog.tiers}
        rows = [
            _row(one, type_names[one.tier], planned, done) for one in chosen
        ]
        if any(one.outcome is not actions.Outcome.DONE for one in done):
            self.exit_status = exit_status.ERROR
        elif self.exit_status == exit_status.OK and any(
            not one.figures for one in chosen
        ):
            self.exit_status = exit_status.REFUSED
        return _COLUMNS, rows

    def _is_agreed(
        self,
        planned: collections.abc.Sequence[actions.Action],
        parsed_args: argparse.Namespace,
    ) -> bool:
        """Return whether to write; sets the exit status if not."""
        if parsed_args.yes or not planned:
            return True
        stdin, stderr = self.app.stdin, self.app.stderr
        if stdin is None or not (stdin.isatty() and stderr.isatty()):
            self.exit_status = exit_status.DIFFERENT
            self.log.warning(base.NOT_ASKED)
            return False
        for one in planned:
            before, after = _descriptions(one)
            for line in (
                f'{one.key}',
                f'  now: {before or "no description"}',
                f'  new: {after}',
            ):
                stderr.write(f'{cells.printable(line)}\n')
        self.ask(
            f'Publish {len(planned)} card{"" if len(planned) == 1 else "s"}?'
        )
        return True

    def _report(self, result: actions.Result) -> None:
        """Write one line on standard error, unless --quiet."""
        text = f'{result.action.key}: {result.outcome.value}'
        if result.reason:
            self.log.error('%s', cells.printable(f'{text}: {result.reason}'))
        elif self.app.options.verbose_level:
            with contextlib.suppress(OSError):
                self.app.stderr.write(f'{cells.printable(text)}\n')


def _measured(
    chooser: types.ModuleType,
    chosen: 'collections.abc.Sequence[choice.Chosen]',
    runs: collections.abc.Mapping,
    catalog: catalogs.Catalog,
    actual: actual_state.ActualState,
    plan: plans.Plan,
) -> dict[str, cards.Measured]:
    """Return the figures of each tier to publish.

    :raises errors.ProblemsFound: results do not fit the existing tiers.
    """
    found, problems = {}, []
    for one in chosen:
        tier = catalog.tier(one.tier)
        if tier is None or not one.figures:
            continue
        state = actual.ceph.get(tier.rbd.cluster) if tier.rbd else None
        before = actual.cinder.volume_types.get(tier.type_name)
        problems += [
            *_drift(catalog, tier, plan),
            *_continued(tier, before),
            *chooser.type_objections(runs, tier, actual.cinder),
            *chooser.objections(runs, tier, state),
            *(
                chooser.out_of_date(
                    one,
                    descriptions.read(before.description),
                    volume_type_kind.stale_card(
                        catalog, tier, before, actual.ceph
                    ),
                )
                if before
                else ()
            ),
        ]
        found[one.tier] = chooser.measured(one, catalog, tier, state)
    if problems:
        raise errors.ProblemsFound(problems)
    return found


def _continued(
    tier: catalogs.Tier, before: cinder_state.VolumeType | None
) -> collections.abc.Iterator[errors.Problem]:
    """Refuse a description that goes on after its card."""
    if volume_type_kind.continued_card(tier, before):
        yield errors.Problem(
            where=f'tier {tier.name}',
            found=f'the description of volume type {tier.type_name} goes on '
            'after its card, so it is not read as a card',
            expected='nothing after the card',
            remedy=volume_type_kind.CONTINUED_CARD,
        )


def _drift(
    catalog: catalogs.Catalog, tier: catalogs.Tier, plan: plans.Plan
) -> collections.abc.Iterator[errors.Problem]:
    """Yield deviations from the tiers file, which change the fingerprint."""
    wrong = [
        str(action.key)
        for action in plan.actions
        if tier.name in registry.tiers_affected(catalog, action)
        and {one.field for one in action.changes} != {'description'}
    ]
    if wrong:
        yield errors.Problem(
            where=f'tier {tier.name}',
            found='the cloud is not as the tiers file says: '
            + ', '.join(wrong),
            expected='the tier as "tier apply" makes it',
            remedy='run "openstack tier apply", and measure again if that '
            'changes what was measured',
        )


def _descriptions(action: actions.Action) -> tuple[str, str]:
    """Return the descriptions of a volume type before and after."""
    before, after = (
        one.description if isinstance(one, cinder_state.VolumeType) else ''
        for one in (action.before, action.after)
    )
    return before, after


def _row(
    chosen: 'choice.Chosen',
    type_name: str,
    planned: collections.abc.Sequence[actions.Action],
    done: collections.abc.Sequence[actions.Result],
) -> cells.Row:
    """A tier under _COLUMNS."""
    action = next((one for one in planned if one.key.name == type_name), None)
    result = next((one for one in done if one.action == action), None)
    before, after = _descriptions(action) if action else (None, None)
    if not chosen.figures:
        state = _REFUSED
    elif action is None:
        state = _AS_IT_IS
    elif result is None:
        state = _PLANNED
    elif result.outcome is actions.Outcome.DONE:
        state = _PUBLISHED
    else:
        state = _FAILED
    return (
        cells.printable(chosen.tier),
        state,
        cells.Optional(before),
        cells.Optional(after),
        cells.Lines([(one, one) for one in chosen.remarks]),
    )
