# SPDX-License-Identifier: Apache-2.0

"""The use cases: plan, apply, audit, export.

Each opens what it needs, observes, and decides; apply writes, too. Commands,
benchmarks and tests call the same functions. Must not know how arguments are
parsed, nor how results are shown; questions and messages to a user come in as
functions.
"""

import collections.abc
import contextlib
import dataclasses
import typing

import openstack.connection

from cinder_tiers.clients import ceph as ceph_clients
from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.domain.audit import tiers as audit_tiers
from cinder_tiers.domain.audit import volume_limits
from cinder_tiers.domain.audit import volumes as audit_volumes
from cinder_tiers.domain.card import card as cards
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.explain import explanation
from cinder_tiers.domain.explain import near_tags
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.domain.export import catalog as export_catalog
from cinder_tiers.domain.export import inventory as inventories
from cinder_tiers.domain.placement import backends as backends_of_cinder
from cinder_tiers.domain.placement import decision
from cinder_tiers.domain.plan import consent
from cinder_tiers.domain.plan import effects
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.plan import unheeded_limits
from cinder_tiers.domain.plan import unserved
from cinder_tiers.domain.resources import volume_type as volume_type_kind
from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.state import glance as glance_state
from cinder_tiers.execute import apply as execution
from cinder_tiers.execute import lock as locks
from cinder_tiers.execute import registry
from cinder_tiers.files import saved_plan
from cinder_tiers.files.tiers import exported as exported_file
from cinder_tiers.files.tiers import reader
from cinder_tiers.observe.ceph import usage as ceph_usage
from cinder_tiers.observe.cinder import volumes as cinder_volumes
from cinder_tiers.observe import cloud_id
from cinder_tiers.observe import for_audit
from cinder_tiers.observe import for_export
from cinder_tiers.observe import for_plan
from cinder_tiers.observe import keystone
from cinder_tiers.observe import visible_cloud

# OSDs of a busy cluster hear of a new option seconds later.
_SETTLE_S = 30.0
# Glance's own limit by default (api_limit_max).
_IMAGES_OF_A_PAGE = 1000

_Connection: typing.TypeAlias = openstack.connection.Connection
_Sessions = dict[str, ceph_clients.Session]
#: Opens sessions with the clusters in use of a catalog, by their names.
OpenClusters = collections.abc.Callable[
    [catalogs.Catalog], contextlib.AbstractContextManager[_Sessions]
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Planned:
    """A plan, and what it does."""

    catalog: catalogs.Catalog
    plan: plans.Plan
    #: Of each action of the plan.
    effects: collections.abc.Mapping[actions.Key, effects.Effect]
    #: {id of a project of the tiers file or the plan: its name; None: there
    #: is no such project}; without those that Keystone does not show.
    project_names: collections.abc.Mapping[str, str | None] = (
        dataclasses.field(default_factory=dict)
    )
    #: Tiers that no backend serves as things are, or why that is not known;
    #: none when it was not asked.
    unserved_tiers: tuple[unserved.Unserved, ...] | errors.TiersError = ()
    #: Of tiers with limits that their backends do not set.
    limits_not_set: tuple[unheeded_limits.Unheeded, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lock:
    """Lock that keeps two applies to one cloud apart."""

    #: Of a tooz driver; None: a file that the users of this host share.
    url: str | None
    #: How long to wait for another apply to end.
    wait_s: float = 0.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Export:
    """A tiers file of what exists."""

    #: Of the file.
    text: str
    exported: export_catalog.Exported
    #: What it was made from.
    inventory: inventories.Inventory


def plan(
    *,
    connection: _Connection,
    catalog: catalogs.Catalog,
    allowed: collections.abc.Sequence[str] = (),
    open_clusters: OpenClusters = for_plan.sessions,
) -> Planned:
    """Plan the changes that make Cinder and Ceph match a catalog.

    Writes nothing. Also reports the tiers that no backend serves, if Cinder's
    scheduler shows its backends.

    :param allowed: names of the objects whose refused actions are allowed.
    :raises errors.TiersError: a service does not answer or refuses, the
        catalog does not fit the cloud, or no object has a name in `allowed`.
    """
    with open_clusters(catalog) as clusters:
        return _planned(
            connection,
            catalog,
            clusters,
            lambda made: consent.grant(made, allowed),
        )


def _backends(
    connection: _Connection, catalog: catalogs.Catalog
) -> tuple[backends_of_cinder.Backend, ...] | errors.TiersError:
    """Return the backends that Cinder's scheduler knows, or the error."""
    if not catalog.ours:
        return ()
    try:
        return visible_cloud.list_backends(connection)
    except errors.TiersError as error:
        return error


def _planned(
    connection: _Connection,
    catalog: catalogs.Catalog,
    clusters: _Sessions,
    grant: collections.abc.Callable[[plans.Plan], plans.Plan],
) -> Planned:
    backends = _backends(connection, catalog)
    known = () if isinstance(backends, errors.TiersError) else backends
    actual = for_plan.observe(
        catalog=catalog,
        clusters=clusters,
        connection=connection,
        backends=known,
    )
    made = plans.make(catalog=catalog, actual=actual, backends=known)
    granted = grant(made)
    return Planned(
        catalog=catalog,
        plan=granted,
        effects=effects.of_plan(granted.actions, actual.ceph),
        project_names=_project_names(connection, granted, actual.projects),
        unserved_tiers=backends
        if isinstance(backends, errors.TiersError)
        else (
            *unserved.find(catalog, actual.cinder.volume_types, backends),
            *unserved.find_elsewhere(catalog, made, backends, actual.ceph),
        ),
        limits_not_set=tuple(unheeded_limits.find(catalog, known)),
    )


def _project_names(
    connection: _Connection,
    plan: plans.Plan,
    of_file: collections.abc.Mapping[str, frozenset[str]],
) -> dict[str, str | None]:
    """The names of projects, for those who read the plan.

    :param of_file: {project as the file names it: ids that are meant by it}.
    """
    found: dict[str, str | None] = {
        ident: name
        for name, ids in of_file.items()
        for ident in ids
        if ident != name
    }
    # Who plans need not be shown projects; their ids say it, too.
    with contextlib.suppress(errors.TiersError):
        found |= keystone.names(
            connection, sorted(plan.projects - found.keys())
        )
    return found


def save_plan(
    path: str, planned: Planned, *, connection: _Connection, text: str
) -> None:
    """Save a plan for `apply`.

    :param path: path of the file, which is replaced.
    :param planned: the plan; `apply` executes none of it while an action is
        refused.
    :param connection: connection to the cloud of the plan.
    :raises errors.TiersError: the file cannot be written.
    """
    saved_plan.write(
        path,
        catalog=text,
        plan=planned.plan,
        catalog_file=planned.catalog.source.file,
        cloud=cloud_id.identity_of(connection),
    )


def apply(
    *,
    connection: _Connection,
    wanted: catalogs.Catalog | saved_plan.SavedPlan,
    lock: Lock,
    agree: collections.abc.Callable[[Planned], None],
    report: collections.abc.Callable[[actions.Result], None],
    allowed: collections.abc.Sequence[str] = (),
    is_to_stop: collections.abc.Callable[[], bool] = lambda: False,
    report_progress: collections.abc.Callable[[str], None] = lambda line: None,
    open_clusters: OpenClusters = for_plan.sessions,
) -> tuple[actions.Result, ...]:
    """Makes Cinder and Ceph match a catalog, or does what was planned.

    :param wanted: a catalog; or a plan that was saved, which is carried out
        as it is, or not at all.
    :param agree: is called with the plan before anything is written; raises
        when that is not to be.
    :param report: is called with each result as soon as there is one.
    :param allowed: objects of which refused actions are allowed; a saved plan
        has its own.
    :param is_to_stop: is asked before each action; those after a yes are
        skipped.
    :param report_progress: is called with a line of progress while an action
        takes long.
    :returns: the result of each action, in the order of the plan.
    :raises errors.TiersError: before anything is written: as `plan`; when
        the lock is not to be had, when the plan has refused actions, or when
        a saved plan is for another cloud or not what this one needs now.
    """
    identity = cloud_id.identity_of(connection)
    if isinstance(wanted, saved_plan.SavedPlan):
        saved_plan.check_cloud(wanted, identity)
        catalog = reader.read_text(wanted.catalog, file=wanted.catalog_file)
    else:
        catalog = wanted

    def grant(made: plans.Plan) -> plans.Plan:
        if not isinstance(wanted, saved_plan.SavedPlan):
            return consent.grant(made, allowed)
        repeated = consent.repeat(made, wanted.allowed)
        saved_plan.check_same(wanted, repeated)
        return repeated

    with (
        locks.held(url=lock.url, cloud=identity, wait_s=lock.wait_s),
        open_clusters(catalog) as clusters,
    ):
        planned = _planned(connection, catalog, clusters, grant)
        agree(planned)
        return _carry_out(
            planned.plan,
            connection,
            clusters,
            report=report,
            report_progress=report_progress,
            is_to_stop=is_to_stop,
        )


def _carry_out(
    plan: plans.Plan,
    connection: _Connection,
    clusters: dict[str, ceph_clients.Session],
    *,
    report: collections.abc.Callable[[actions.Result], None],
    report_progress: collections.abc.Callable[[str], None],
    is_to_stop: collections.abc.Callable[[], bool] = lambda: False,
) -> tuple[actions.Result, ...]:
    return execution.apply(
        plan=plan,
        report=report,
        is_to_stop=is_to_stop,
        settle_s=_SETTLE_S,
        read=for_plan.reader(connection=connection, clusters=clusters),
        executors=registry.executors(
            connection=connection,
            clusters=clusters,
            read_usage=ceph_usage.attempt,
            report_progress=report_progress,
        ),
    )


#: What is to be said of tiers: {name of the tier: what was measured}, given
#: what exists and what an apply would do.
Measured = collections.abc.Callable[
    [actual_state.ActualState, plans.Plan],
    collections.abc.Mapping[str, cards.Measured],
]


def publish(
    *,
    connection: _Connection,
    catalog: catalogs.Catalog,
    measured: Measured,
    lock: Lock,
    agree: collections.abc.Callable[[tuple[actions.Action, ...]], bool],
    report: collections.abc.Callable[[actions.Result], None],
    open_clusters: OpenClusters = for_plan.sessions,
) -> tuple[actions.Result, ...]:
    """Write measured figures into the descriptions of volume types.

    :param measured: returns the figures of tiers of the catalog; raises an
        error if they do not apply to the existing tiers.
    :param agree: called with the planned actions before anything is written;
        False or an error leaves everything unchanged.
    :param report: called with each result as soon as it is known.
    :returns: the result of each action; empty if there is nothing to change,
        or if `agree` returned False.
    :raises errors.ProblemsFound: some tiers have no volume type, or no room
        for figures in their descriptions.
    :raises errors.TiersError: see `plan`; or the lock cannot be acquired.
    """
    identity = cloud_id.identity_of(connection)
    with (
        locks.held(url=lock.url, cloud=identity, wait_s=lock.wait_s),
        open_clusters(catalog) as clusters,
    ):
        actual = for_plan.observe(
            catalog=catalog, clusters=clusters, connection=connection
        )
        found = tuple(
            _cards(
                catalog,
                actual,
                measured(actual, plans.make(catalog=catalog, actual=actual)),
            )
        )
        if not agree(found):
            return ()
        return _carry_out(
            plans.Plan(actions=found),
            connection,
            clusters,
            report=report,
            report_progress=lambda line: None,
        )


def _cards(
    catalog: catalogs.Catalog,
    actual: actual_state.ActualState,
    measured: collections.abc.Mapping[str, cards.Measured],
) -> list[actions.Action]:
    made, problems = [], []
    for name, one in measured.items():
        tier = catalog.tier(name)
        try:
            if (
                tier is None
                or (before := actual.cinder.volume_types.get(tier.type_name))
                is None
            ):
                raise ValueError('the tier has no volume type')
            action = volume_type_kind.with_measured(tier, before, one)
        except ValueError as error:
            problems.append(
                errors.Problem(
                    where=f'tier {name}',
                    found=str(error),
                    expected='a volume type that has room for a card',
                    remedy='fix the description in the tiers file, and run '
                    '"openstack tier apply"',
                )
            )
        else:
            made.extend([action] if action else [])
    if problems:
        raise errors.ProblemsFound(problems)
    return made


@dataclasses.dataclass(frozen=True, kw_only=True)
class Audited:
    """Result of an audit."""

    findings: tuple[audit_tiers.Finding, ...]
    #: Why Cinder's state could not be read, so that of no tier anything is
    #: known, or why Keystone's projects could not; None when they were.
    openstack_error: errors.TiersError | None


def audit(
    *,
    connection: _Connection,
    catalog: catalogs.Catalog,
    tiers: collections.abc.Sequence[str] = (),
    volumes_by: decision.Policy | None = None,
    with_residency: bool = False,
    with_limits: bool = False,
    open_session: ceph_clients.Open = ceph_clients.session,
) -> Audited:
    """Find differences from a catalog, and what cannot be determined.

    :param tiers: names of the tiers to audit, with the options of the hosts of
        their clusters; empty: all tiers, and objects with the ownership marker
        that belong to no tier.
    :param volumes_by: the operator's choices for auditing the volumes of all
        projects; None: volumes are not audited.
    :param with_residency: whether to report volumes that are clones of images.
    :param with_limits: whether to compare the limits of RBD images, and those
        that Nova keeps, with those of their volume types.
    :param open_session: opens a session with a cluster.
    :raises errors.ProblemsFound: the catalog lacks some of `tiers`.
    :raises errors.TiersError: Cinder does not show the QoS specs of volume
        types.
    """
    clusters = {tier.rbd.cluster for tier in catalog.chosen(tiers) if tier.rbd}
    with for_audit.sessions(
        catalog, clusters, open_session=open_session
    ) as sessions:
        observed = for_audit.observe(
            catalog=catalog, connection=connection, clusters=sessions
        )
        findings = [
            one
            for one in audit_tiers.audit(catalog=catalog, observed=observed)
            if not tiers or any(one.is_about(catalog, name) for name in tiers)
        ]
        if volumes_by is not None:
            findings.extend(
                audit_all_volumes(
                    connection,
                    policy=volumes_by,
                    residency=(
                        cinder_volumes.residency(catalog, sessions)
                        if with_residency
                        else None
                    ),
                    limits=(
                        dataclasses.replace(
                            cinder_volumes.limits(
                                connection, catalog, sessions
                            ),
                            attached=cinder_volumes.attached(connection),
                        )
                        if with_limits
                        else None
                    ),
                    tiers=list(tiers) or None,
                )
            )
    return Audited(
        findings=tuple(findings),
        openstack_error=next(
            (
                one.error
                for one in (observed.cinder, observed.projects)
                if isinstance(one, audit_tiers.Unread)
            ),
            None,
        ),
    )


def audit_all_volumes(
    connection: _Connection,
    *,
    policy: decision.Policy,
    residency: audit_volumes.Residency | None,
    limits: volume_limits.VolumeLimits | None = None,
    tiers: list[str] | None,
) -> collections.abc.Iterator[audit_tiers.Finding]:
    """Yield findings on the volumes of all projects.

    :param residency: volumes that are clones of images; None: not audited.
    :param limits: limits of the images of volumes; None: not audited.
    :param tiers: names of the tiers to audit; None: all.
    :returns: one unknown finding when the volumes cannot be audited.
    """
    known = for_audit.attempt(lambda: visible_cloud.observe(connection))
    if not isinstance(known, audit_tiers.Unread) and not known.is_admin:
        known = audit_tiers.Unread(
            reason=(
                'Cinder shows the backends, and the volumes of all projects, '
                'only to an administrator of block storage: run the command '
                'as one'
            )
        )
    if isinstance(known, audit_tiers.Unread):
        yield audit_tiers.Finding(
            object_name='volumes',
            tier=None,
            state=audit_tiers.State.UNKNOWN,
            aspect=audit_volumes.PLACEMENT,
            reason=known.reason,
        )
        return
    yield from audit_volumes.audit_volumes(
        volumes=cinder_volumes.volumes(connection, known),
        known=known,
        find_image=cinder_volumes.ListedImages(connection).find,
        policy=policy,
        residency=residency,
        limits=limits,
        tiers=tiers,
    )


def list_volumes(
    connection: _Connection,
    *,
    policy: decision.Policy,
    tier: str | None = None,
    project: str | None = None,
) -> collections.abc.Iterator[audit_volumes.ListedVolume]:
    """The volumes of all projects, or of one, with what is said of each.

    :param tier: name of the applied tier that they are of; None: any, or
        none.
    :param project: id of the project; None: all.
    :raises errors.TiersError: Cinder does not answer, or does not show the
        volumes of all projects; or there is no such tier.
    """
    known = visible_cloud.observe(connection)
    if not known.is_admin:
        raise errors.NotVisible(
            'Cinder shows the volumes of all projects, and their backends, '
            'only to an administrator of block storage; run the command as '
            'an administrator'
        )
    names = sorted(explanation.read_tiers(known.types).types)
    if tier is not None and tier not in names:
        raise errors.TiersError(
            f'tier {tier!r} is not applied; expected one of '
            f'{spelling.listed(names)}; '
            f'{spelling.did_you_mean(tier, names)}see "openstack tier list"'
        )
    for one in volumes_of(connection, known, policy=policy, project=project):
        if tier in (None, one.verdict.tier):
            yield one


def volumes_of(
    connection: _Connection,
    known: facts.VisibleCloud,
    *,
    policy: decision.Policy,
    project: str | None = None,
) -> collections.abc.Iterator[audit_volumes.ListedVolume]:
    """Yield the volumes that a user sees, with the findings of the audit.

    :param connection: connection of the user; Cinder shows the volumes of all
        projects to an administrator, and their own to others.
    :param known: the part of the cloud that the user may see.
    :param project: id of the project; None: all.
    :raises errors.TiersError: Cinder does not answer, or not all volumes
        could be listed.
    """
    return audit_volumes.list_volumes(
        # Cinder without a file of filters answers 500 to project_id.
        volumes=(
            one
            for one in cinder_volumes.volumes(connection, known)
            if project in (None, one.project)
        ),
        known=known,
        find_image=cinder_volumes.ListedImages(connection).find,
        policy=policy,
    )


def lint_images(
    connection: _Connection, *, all_projects: bool = False
) -> collections.abc.Iterator[near_tags.ImageTag]:
    """Find images without a tier tag that have a tag similar to one.

    :param all_projects: whether to check the images of all projects, which
        needs an administrator; otherwise those of the user's project.
    :raises errors.TiersError: a service does not answer; the user may not see
        all images; or the tags of tiers are not known.
    """
    known = visible_cloud.observe_types(connection)
    if all_projects and not known.is_admin:
        raise errors.NotVisible(
            '--all is for administrators of block storage; omit it to see '
            'the images of your project'
        )
    tier_of_tag = explanation.read_tiers(known.types).tier_of_tag
    tags = frozenset(tier_of_tag)
    if facts.EXTRA_SPECS in known.hidden:
        published = visible_cloud.published_tags(connection)
        if published is None:
            raise errors.NotVisible(
                'the tags of tiers are not known: Cinder hides them from this '
                'user, and they are not published in Glance (namespace '
                f'{glance_state.NAMESPACE}); ask the administrator of the '
                'cloud to publish them, by publish_tags in the tiers file'
            )
        tags = published
    # By default Glance leaves out the community images of other projects.
    params: dict[str, object] = {
        'limit': _IMAGES_OF_A_PAGE,
        'visibility': 'all',
    }
    if not all_projects:
        params['owner'] = known.project
    with openstack_client.asking('Glance did not list images'):
        for image in visible_cloud.list_images(connection, **params):
            if not all_projects and image.get('owner') != known.project:
                continue
            for one in near_tags.find(image.get('tags') or (), tags):
                yield near_tags.ImageTag(
                    image_id=image['id'],
                    name=image.get('name'),
                    project=image.get('owner'),
                    near=one,
                    tier=tier_of_tag.get(one.meant),
                )


def export(
    *,
    connection: _Connection,
    clusters: collections.abc.Iterable[catalogs.Cluster],
    file: str = 'the export',
    open_session: ceph_clients.Open = ceph_clients.session,
) -> Export:
    """A tiers file of what exists, for which a plan is empty.

    :param clusters: Ceph clusters to ask, each with a name of its own.
    :param file: name of the file, for messages.
    :param open_session: opens a session with a cluster.
    :raises errors.TiersError: when Cinder or Keystone does not answer or
        refuses, or the file could not be read again.
    """
    inventory = for_export.observe(
        connection, clusters, open_session=open_session
    )
    exported = export_catalog.export(inventory)
    text = exported_file.text_of(exported, inventory)
    reader.read_text(text, file=file)
    return Export(text=text, exported=exported, inventory=inventory)
