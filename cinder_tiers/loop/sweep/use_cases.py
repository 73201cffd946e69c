# SPDX-License-Identifier: Apache-2.0

"""The use cases of sweeps, with faults or without: prepare, run, bring back.

Each holds the lock of apply while it writes, so that neither an apply nor
another sweep changes the same cloud meanwhile. Must not know how arguments
are parsed, nor how results are shown.
"""

import collections.abc
import contextlib
import dataclasses
import datetime
import os
import typing

import openstack.connection

from cinder_tiers.clients import absent
from cinder_tiers.clients import ceph as ceph_clients
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.resources import registry as resources
from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.execute import apply as execution
from cinder_tiers.execute import lock as locks
from cinder_tiers.execute import registry
from cinder_tiers.files.tiers import reader
from cinder_tiers.loop.fault import fault as faults
from cinder_tiers.loop.fault import means as fault_means
from cinder_tiers.loop.fault import objections
from cinder_tiers.loop.fault import observed_facts
from cinder_tiers.loop.fault import slot as fault_slot
from cinder_tiers.loop.sweep import design
from cinder_tiers.loop.sweep import file_announcement
from cinder_tiers.loop.sweep import file_journal as journals
from cinder_tiers.loop.sweep import file_reader as sweep_reader
from cinder_tiers.loop.sweep import file_results as result_files
from cinder_tiers.loop.sweep import kept as keeping
from cinder_tiers.loop.sweep import memory
from cinder_tiers.loop.sweep import preparation
from cinder_tiers.loop.sweep import record
from cinder_tiers.loop.sweep import run_measure as measuring
from cinder_tiers.loop.sweep import run_restore as restoring
from cinder_tiers.loop.sweep import run_sweep as sweeping
from cinder_tiers.observe.ceph.osd import osd_memory
from cinder_tiers.observe.ceph import usage as ceph_usage
from cinder_tiers.observe import cloud_id
from cinder_tiers.observe import for_plan
from cinder_tiers.observe import word_for_word
from cinder_tiers import workflow

# OSDs of a busy cluster hear of a new option seconds later.
_SETTLE_S = 30.0

_Connection: typing.TypeAlias = openstack.connection.Connection


@dataclasses.dataclass(frozen=True, kw_only=True)
class Files:
    """The files of a sweep."""

    #: Names, for the journal and for messages.
    sweep_file: str
    catalog_file: str
    #: Text of the tiers file, with all that it includes.
    catalog_text: str
    #: Folder of journals.
    state: str
    #: Folder for the results.
    results: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class BroughtBack:
    """Result of restoring values."""

    journal: journals.Journal
    values: tuple[restoring.Restored | fault_means.Mended, ...]
    #: Names of values that another user set and that are accepted.
    accepted: frozenset[str] = frozenset()
    #: What "tier plan" now shows, as text; None: it was not looked at.
    planned: tuple[str, ...] | None = None
    #: Why that is not known.
    unplanned: str = ''

    @property
    def is_complete(self) -> bool:
        """Return whether nothing is left to restore."""
        return all(
            one.is_back or one.name in self.accepted for one in self.values
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Open:
    """A journal that is there, and how its values are now."""

    path: str
    journal: journals.Journal
    #: (name, value from before, value now, how it is)
    values: tuple[
        tuple[str, str | None, str | None, keeping.Stand],
        ...,
    ]


class _World:
    """Cinder and Ceph, as a sweep sees and changes them."""

    def __init__(
        self,
        connection: _Connection,
        clusters: dict[str, ceph_clients.Session],
        observed: catalogs.Catalog,
    ) -> None:
        self._connection = connection
        self._clusters = clusters
        self._observed = observed
        self.executors: dict[actions.Kind, execution.Executor] = (
            registry.executors(
                connection=connection,
                clusters=clusters,
                read_usage=ceph_usage.attempt,
            )
        )
        self.read = for_plan.reader(connection=connection, clusters=clusters)
        self.now = word_for_word.reader(
            connection=connection, clusters=clusters
        )

    def observe(self) -> actual_state.ActualState:
        """Read the state with which plans are compared."""
        return for_plan.observe(
            catalog=self._observed,
            clusters=self._clusters,
            connection=self._connection,
        )

    def memory_of(
        self, cluster: str, osd_ids: collections.abc.Set[int]
    ) -> memory.Osds:
        """OSDs with the memory of their hosts."""
        return osd_memory.observe(self._clusters[cluster], osd_ids)


def _world(
    connection: _Connection,
    clusters: dict[str, ceph_clients.Session],
    file: sweep_reader.SweepFile,
) -> _World:
    return _World(
        connection,
        clusters,
        design.observing(
            file.catalogs[design.DEFAULT],
            file.catalogs.values(),
            file.sweep.tier,
        ),
    )


def _means(
    clusters: dict[str, ceph_clients.Session],
    cluster: str,
    pool: str,
    *,
    are_ended: bool = True,
    folder: str = '',
) -> fault_means.Means:
    session = clusters[cluster]
    return fault_means.Means(
        session,
        observed_facts.Reader(session),
        pool,
        are_ended=are_ended,
        folder=folder,
    )


def _prepared(
    file: sweep_reader.SweepFile,
    world: _World,
    clusters: dict[str, ceph_clients.Session],
) -> tuple[preparation.Prepared, fault_means.Means | None]:
    """Return the prepared sweep, and the executor of its faults."""
    prepared = preparation.prepare(
        file.sweep,
        file.catalogs,
        world.observe(),
        world.now,
        world.memory_of,
    )
    if not file.faults.faults:
        return prepared, None
    tier = file.catalogs[design.DEFAULT].tier(file.sweep.tier)
    if not isinstance(tier, catalogs.CephTier):
        raise ValueError(f'tier {file.sweep.tier} has no Ceph pool to strike')
    means = _means(clusters, tier.rbd.cluster, tier.rbd.data_pool)
    facts, targets = means.facts(file.faults.faults, file.sweep.seed)
    objections.check(targets, facts)
    return dataclasses.replace(
        prepared,
        struck=faults.Struck(
            cluster=tier.rbd.cluster, fsid=facts.fsid, targets=targets
        ),
    ), means


def prepare(
    *,
    connection: _Connection,
    file: sweep_reader.SweepFile,
    open_clusters: workflow.OpenClusters = for_plan.sessions,
) -> preparation.Prepared:
    """Prepare a sweep. Writes nothing.

    :raises errors.TiersError: a service does not answer, or the sweep is not
        possible here; see `preparation.prepare` and `objections.check`.
    """
    with open_clusters(file.catalogs[design.DEFAULT]) as clusters:
        world = _world(connection, clusters, file)
        return _prepared(file, world, clusters)[0]


def run(
    *,
    connection: _Connection,
    file: sweep_reader.SweepFile,
    files: Files,
    lock: workflow.Lock,
    agree: collections.abc.Callable[[preparation.Prepared], None],
    measure: measuring.Command,
    report: collections.abc.Callable[[record.SlotRecord], None],
    is_to_stop: collections.abc.Callable[[], bool] = lambda: False,
    allowed: collections.abc.Container[str] = (),
    open_clusters: workflow.OpenClusters = for_plan.sessions,
    settle_s: float = _SETTLE_S,
) -> tuple[result_files.Results, BroughtBack]:
    """Carries out a sweep, and brings everything back.

    :param agree: is called before anything is written; raises when that is
        not to be.
    :param measure: measures one slot.
    :param report: is called with each slot as soon as it is over.
    :param is_to_stop: is asked before each slot.
    :param allowed: fsids of clusters in which faults may be made.
    :param settle_s: seconds that a write may take to be in effect.
    :raises errors.NotAsBefore: the sweep was ended, also by a Ctrl-C that
        stops at once, and not everything was brought back; the journal has the
        rest.
    :raises errors.TiersError: before anything is written: as `prepare`, when
        the lock is not to be had, or when a journal is open; later: when a
        service does not answer.
    """
    identity = cloud_id.identity_of(connection)
    path = journals.path_in(files.state, identity)
    default = file.catalogs[design.DEFAULT]
    with (
        _held(lock, identity) as said,
        _stopped_at_once(path),
        open_clusters(default) as clusters,
    ):
        _check_closed(path)
        world = _world(connection, clusters, file)
        prepared, means = _prepared(file, world, clusters)
        targets = prepared.struck.targets if prepared.struck else ()
        if prepared.struck:
            objections.check_consent(prepared.struck, allowed)
        agree(prepared)
        result_file = result_files.make_folder(files.results)
        journal = journals.Journal(
            cloud=identity,
            tier=file.sweep.tier,
            sweep_file=files.sweep_file,
            catalog_file=files.catalog_file,
            catalog=files.catalog_text,
            started=_now(),
            by=locks.me(),
            results=os.path.abspath(result_file),
            objects=prepared.kept,
            faults=tuple(one for one in targets if one.is_to_mend),
            folder=_folder(),
        )
        results = result_files.Results(
            sweep=file.sweep,
            sweep_file=files.sweep_file,
            catalog_file=files.catalog_file,
            started=journal.started,
            state=result_files.RUNNING,
            is_brought_back=False,
        )
        journals.write(path, journal)
        try:
            result_files.write(result_file, results)
        except errors.TiersError:
            # Nothing was changed, and nothing is to be brought back.
            journals.remove(path)
            raise

        def take(one: record.SlotRecord) -> None:
            nonlocal results
            results = dataclasses.replace(
                results, records=(*results.records, one)
            )
            result_files.write(result_file, results)
            report(one)

        def end(*, is_brought_back: bool) -> None:
            nonlocal results
            results = result_files.ended(
                results, is_brought_back=is_brought_back
            )
            result_files.write(result_file, results)

        failure = None
        try:
            restoring.rehearse(prepared.kept, executors=world.executors)
            sweeping.run(
                prepared,
                world=world,
                measure=measure
                if means is None
                else fault_slot.Measure(
                    measure,
                    made=file.faults,
                    targets=targets,
                    means=means,
                    read_announcement=file_announcement.read,
                    is_to_stop=is_to_stop,
                ),
                report=take,
                is_to_stop=is_to_stop,
                settle_s=settle_s,
            )
        except Exception as error:  # noqa: BLE001 - raised again below
            failure = error
        try:
            back = _bring_back(
                path,
                journal,
                world,
                mend=None if means is None else means.mend,
                settle_s=settle_s,
            )
        except errors.TiersError:
            with contextlib.suppress(errors.TiersError):
                end(is_brought_back=False)
            raise
        said.append(_said_of(path, back))
        try:
            end(is_brought_back=back.is_complete)
        except errors.TiersError as error:
            # Of a full disk, it must still be told what is not as before.
            failure = failure or error
        if failure is None:
            return results, back
        if back.is_complete and not isinstance(failure, errors.TiersError):
            raise failure
        if not back.is_complete:
            raise errors.NotAsBefore(
                *errors.lines_of(failure), *said
            ) from failure
        raise errors.with_more(failure, *said) from failure


@contextlib.contextmanager
def _held(
    lock: workflow.Lock, identity: str
) -> collections.abc.Iterator[list[str]]:
    """Holds the lock of apply.

    :returns: a context; a list of lines, of what must be told even if the
        lock was lost on the way.
    """
    said: list[str] = []
    try:
        with locks.held(url=lock.url, cloud=identity, wait_s=lock.wait_s):
            yield said
    except errors.TiersError as error:
        for line in said:
            if line not in str(error):
                raise errors.with_more(error, line) from error
        raise


@contextlib.contextmanager
def _stopped_at_once(path: str) -> collections.abc.Iterator[None]:
    """Report the values that an immediate Ctrl-C leaves unrestored.

    Without this it would exit as if everything had been restored.

    :raises errors.NotAsBefore: there are values to restore.
    """
    try:
        yield
    except KeyboardInterrupt as error:
        if not os.path.lexists(path):
            raise
        raise errors.NotAsBefore(
            'Interrupted before everything was restored; '
            f'{path} has the values: run "openstack tier sweep --restore"'
        ) from error


def _said_of(path: str, back: BroughtBack) -> str:
    if back.is_complete:
        return 'Everything that the sweep changed is as before.'
    return (
        f'Not everything is as before; {path} has the rest: run "openstack '
        'tier sweep --restore"'
    )


def check_closed(*, connection: _Connection, state: str) -> None:
    """Refuses to begin while a sweep has something to bring back.

    :param state: folder of journals.
    :raises errors.ActionFailed: a journal is open.
    """
    _check_closed(journals.path_in(state, cloud_id.identity_of(connection)))


def _check_closed(path: str) -> None:
    found = journals.read(path)
    if found is not None:
        raise errors.ActionFailed(
            f'Nothing was changed because a sweep of tier {found.tier}, '
            f'started {found.started} by {found.by}, has not restored '
            f'everything ({path}); run "openstack tier sweep --restore"'
        )


#: Mends what a fault has left.
_Mend = collections.abc.Callable[[faults.Target], fault_means.Mended]


def _bring_back(
    path: str,
    journal: journals.Journal,
    world: _World,
    *,
    mend: _Mend | None,
    settle_s: float,
    allowed: frozenset[str] = frozenset(),
    accepted: frozenset[str] = frozenset(),
) -> BroughtBack:
    """Brings everything back, and removes the journal when all is read back.

    First the OSDs, which have to be told the values.

    :param mend: None: no fault was made.
    :raises errors.TiersError: something cannot be looked at, since a service
        does not answer or refuses; all else is brought back.
    """
    values: list[restoring.Restored | fault_means.Mended] = []
    failure = None
    for target in journal.faults:
        if mend is None:
            break
        try:
            values.append(mend(target))
        except errors.TiersError as error:
            # The next one may be why this one cannot be looked at.
            failure = failure or error
    try:
        values.extend(
            restoring.restore(
                journal.objects,
                executors=world.executors,
                read=world.read,
                now=world.now,
                allowed=allowed,
                settle_s=settle_s,
            )
        )
    except errors.TiersError as error:
        failure = failure or error
    if failure is not None:
        raise errors.with_more(
            failure,
            f'Not everything is as before; {path} has the values: run '
            '"openstack tier sweep --restore" when the service answers',
        ) from failure
    back = BroughtBack(
        journal=journal, accepted=accepted, values=tuple(values)
    )
    if back.is_complete:
        journals.remove(path)
    return back


def restore(
    *,
    connection: _Connection,
    state: str,
    lock: workflow.Lock,
    allowed: collections.abc.Sequence[str] = (),
    accepted: collections.abc.Sequence[str] = (),
    open_clusters: workflow.OpenClusters = for_plan.sessions,
    settle_s: float = _SETTLE_S,
) -> BroughtBack | None:
    """Brings back what a sweep that was ended has left.

    May be ended at any point and repeated.

    :param state: folder of journals.
    :param allowed: names of values that are replaced, although another user
        has written them.
    :param accepted: names of values that stay as another user has written
        them.
    :returns: None when there is no journal.
    :raises errors.NotAsBefore: Ctrl-C stopped it; it can be repeated.
    :raises errors.TiersError: the lock is not to be had, a service does not
        answer, or a name is of no value.
    """
    identity = _identity(connection, state)
    path = journals.path_in(state, identity)
    with _held(lock, identity) as said, _stopped_at_once(path):
        journal = journals.read(path)
        if journal is None:
            return None
        _check_names(journal, (*allowed, *accepted))
        catalog = _catalog_of(path, journal)
        with _those_that_answer(open_clusters, catalog) as clusters:
            _check_clusters(path, journal, clusters)
            world = _World(connection, clusters, catalog)
            back = _bring_back(
                path,
                journal,
                world,
                mend=lambda target: _means_left(
                    clusters, target, journal
                ).mend(target),
                settle_s=settle_s,
                allowed=frozenset(allowed),
                accepted=frozenset(accepted),
            )
            said.append(_said_of(path, back))
            result_files.note_restored(
                journal.results,
                started=journal.started,
                is_brought_back=back.is_complete,
            )
            try:
                plan = plans.make(catalog=catalog, actual=world.observe())
            except errors.TiersError as error:
                # What became of the values must be told all the same.
                return dataclasses.replace(back, unplanned=str(error))
            return dataclasses.replace(
                back, planned=preparation.differing(plan)
            )


def without(error: errors.Unreachable) -> _Connection:
    """Return a connection that does not answer, for `restore`.

    Options of OSDs may be the reason why OpenStack does not answer.

    :param error: the error to raise.
    """
    return typing.cast(_Connection, absent.Absent(error))


def _identity(connection: _Connection, state: str) -> str:
    """Return the identity of the cloud whose journal is sought.

    Without Keystone, which knows it, it is that of the only journal.

    :param state: folder of journals.
    :raises errors.Unreachable: Keystone does not answer, and there is not
        exactly one journal.
    """
    try:
        return cloud_id.identity_of(connection)
    except errors.Unreachable as error:
        found = journals.all_in(state)
        if isinstance(error, errors.NotVisible) or len(found) != 1:
            raise
        journal = journals.read(found[0])
        if (
            journal is None
            or journals.path_in(state, journal.cloud) != (found[0])
        ):
            raise
        return journal.cloud


@contextlib.contextmanager
def _those_that_answer(
    open_clusters: workflow.OpenClusters, catalog: catalogs.Catalog
) -> collections.abc.Iterator[dict[str, ceph_clients.Session]]:
    """Sessions with clusters; one that is gone keeps no other as it is."""
    with contextlib.ExitStack() as stack:
        try:
            clusters = stack.enter_context(open_clusters(catalog))
        except errors.Unreachable:
            clusters = {}
            for one in catalog.clusters_in_use:
                alone = dataclasses.replace(
                    catalog, tiers=catalog.tiers_of(one.name)
                )
                try:
                    clusters |= stack.enter_context(open_clusters(alone))
                except errors.Unreachable as error:
                    clusters[one.name] = typing.cast(
                        ceph_clients.Session, absent.Absent(error)
                    )
        yield clusters


def _catalog_of(path: str, journal: journals.Journal) -> catalogs.Catalog:
    """The tiers file as it was when the sweep began.

    :raises errors.TiersError: this release does not take it, or it was
        changed by hand.
    """
    try:
        # Not the name of the tiers file: whoever mends that changes nothing.
        return reader.read_text(journal.catalog, file=f'{path} ("catalog")')
    except errors.ProblemsFound as error:
        raise errors.with_more(
            error,
            f'This is the text of {journal.catalog_file} in the journal of '
            f'the sweep, which has the values to restore; restore with the '
            'release of cinder-tiers that wrote it, or fix "catalog" there',
        ) from error


def _check_clusters(
    path: str,
    journal: journals.Journal,
    clusters: collections.abc.Collection[str],
) -> None:
    """Check that each value of a journal is of a cluster of its tiers file.

    :param path: path of the journal, which may have been changed by hand.
    :param clusters: names of the clusters that have a tier of that file.
    :raises errors.ProblemsFound: a value is of another cluster.
    """
    of_values = {
        **{
            str(one.key): one.key.cluster
            for one in journal.objects
            if resources.BY_KIND[one.key.kind].is_in_ceph
        },
        **{one.name: one.cluster for one in journal.faults},
    }
    problems = [
        errors.Problem(
            where=path,
            found=f'{name} with cluster {cluster!r}, on which its "catalog" '
            'has no tier',
            expected=f'one of {spelling.listed(clusters)}',
            remedy='name the cluster that it is in',
        )
        for name, cluster in of_values.items()
        if cluster not in clusters
    ]
    if problems:
        raise errors.ProblemsFound(problems)


def _check_names(
    journal: journals.Journal, names: collections.abc.Iterable[str]
) -> None:
    known = (
        *journals.names_of(journal.objects),
        *(one.name for one in journal.faults),
    )
    # Another user may have added to an object that the sweep made.
    made = tuple(f'{one.key}:' for one in journal.objects if not one.existed)
    problems = [
        errors.Problem(
            where=repr(name),
            found='no value of the journal has that name',
            expected=f'one of {spelling.listed(known)}',
            remedy=f'{spelling.did_you_mean(name, known)}copy it from '
            '"openstack tier sweep --status"',
        )
        for name in names
        if name not in known and not (made and name.startswith(made))
    ]
    if problems:
        raise errors.ProblemsFound(problems)


def look(
    *,
    connection: _Connection,
    state: str,
    open_clusters: workflow.OpenClusters = for_plan.sessions,
) -> Open | None:
    """Read the current values of an open journal. Writes nothing.

    :param state: folder of journals.
    :returns: None if there is no journal.
    :raises errors.TiersError: a service does not answer, or the journal cannot
        be read.
    """
    path = journals.path_in(state, _identity(connection, state))
    journal = journals.read(path)
    if journal is None:
        return None
    catalog = _catalog_of(path, journal)
    with open_clusters(catalog) as clusters:
        _check_clusters(path, journal, clusters)
        world = _World(connection, clusters, catalog)
        return Open(
            path=path,
            journal=journal,
            values=(
                *(
                    _stand(
                        target,
                        _means_left(clusters, target, journal).stand(target),
                    )
                    for target in journal.faults
                ),
                *(
                    (
                        keeping.name_of(one.key, setting.field),
                        setting.before,
                        value,
                        stand,
                    )
                    for one in journal.objects
                    for setting, value, stand in keeping.stands(
                        one, world.now(one.key)
                    )
                ),
            ),
        )


def _means_left(
    clusters: dict[str, ceph_clients.Session],
    target: faults.Target,
    journal: journals.Journal,
) -> fault_means.Means:
    """Return the executor that undoes faults of a killed process."""
    return _means(
        clusters,
        target.cluster,
        target.pool,
        are_ended=False,
        folder=journal.folder,
    )


def _stand(
    target: faults.Target, found: str
) -> tuple[str, str | None, str | None, keeping.Stand]:
    """Return the state of a fault that must not be undone, as in `Open`."""
    before = fault_means.before(target)
    return (
        target.name,
        before,
        found,
        keeping.Stand.AS_BEFORE if found == before else keeping.Stand.SWEPT,
    )


def _folder() -> str:
    """Return the current folder; '' if another process removed it."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ''


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime('%Y-%m-%dT%H:%M:%SZ')
