# SPDX-License-Identifier: Apache-2.0
"""The faults that meet the creates, each injected for real.

A fault is a context manager: it begins when it is entered, and is mended when
it is left, whatever happened in between.
"""

from collections.abc import Callable, Iterator
import contextlib
import dataclasses
import itertools
import threading
import time

from tests.functional import faults_cloud
from tests.functional import faults_load
from tests.functional import glance_proxy

#: As the doors name themselves to Glance.
DOORS_AGENT = 'cinder-tiers'
ALL_KINDS = frozenset(faults_load.KINDS)
#: What the proxy can answer to the doors.
ANSWERS = (401, 403, 404, 500, 'garbage', 'silence', 'late')


@dataclasses.dataclass(kw_only=True)
class Scene:
    """What a fault acts on.

    :param proxy: stands between Cinder and Glance, if Cinder is so
        configured.
    :param later: mends what cannot be mended before the volumes are gone.
    """

    cloud: faults_cloud.Cloud
    proxy: glance_proxy.GlanceProxy
    later: contextlib.ExitStack


#: For which Glance is frozen after it was stopped.
_FROZEN_S = 12.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault, and what may not come of it.

    :param name: as the table has it.
    :param inject: makes the context manager.
    :param after: it begins when this share of the creates has begun; 0:
        before the first.
    :param for_s: seconds that it lasts; None: until all creates have been
        answered.
    :param must_pass: kinds of create that cannot fail of it where Cinder
        works alone, by its nature: with doors none may fail.
    :param spares_kinds: whether the kind of a create decides about its fate;
        if not, creates of all kinds are compared together.
    :param through_proxy: whether Cinder asks Glance through the proxy.
    :param is_cold: whether the doors ask Glance for each create.
    :param own_tokens: whether each create has a token of its own, revoked
        after the answer.
    :param only_doors: whether Cinder alone never meets it.
    :param holds_s: seconds for which it may hold a request of Cinder alone,
        though it may be that none of the run without doors meets that part.
    """

    name: str
    inject: Callable[[Scene], contextlib.AbstractContextManager]
    after: float = 0.25
    for_s: float | None
    must_pass: frozenset[str]
    spares_kinds: bool = True
    through_proxy: bool = False
    is_cold: bool = False
    own_tokens: bool = False
    only_doors: bool = False
    holds_s: float = 0.0


@contextlib.contextmanager
def _stopped(scene: Scene, service: str) -> Iterator[None]:
    scene.cloud.supervisorctl('stop', service)
    try:
        yield
    finally:
        scene.cloud.restart(service)  # and waits until it answers


@contextlib.contextmanager
def _tokens_revoked(scene: Scene) -> Iterator[None]:
    """Hold up the scheduler until all tokens are revoked.

    Glance has seen each token before and would believe it for minutes; a new
    process asks Keystone.
    """
    with scene.cloud.frozen('cinder-scheduler'):
        yield
        scene.cloud.restart('glance-api')


@contextlib.contextmanager
def _answered(
    scene: Scene, fault: int | str, only_agent: str | None
) -> Iterator[None]:
    scene.proxy.inject(fault, only_agent)
    try:
        yield
    finally:
        scene.proxy.heal()


@contextlib.contextmanager
def _answered_in_turn(scene: Scene) -> Iterator[None]:
    """Give the doors one wrong answer after the other."""
    end = threading.Event()

    def take_turns():
        for fault in itertools.cycle(ANSWERS):
            scene.proxy.inject(fault, DOORS_AGENT)
            if end.wait(6):
                return

    thread = threading.Thread(target=take_turns)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()
        scene.proxy.heal()


@contextlib.contextmanager
def _glance_gone(scene: Scene) -> Iterator[None]:
    with _stopped(scene, 'glance-api'):
        time.sleep(6)
    time.sleep(3)
    with scene.cloud.frozen('glance-api'):
        time.sleep(_FROZEN_S)
    yield


@contextlib.contextmanager
def _restarts(scene: Scene) -> Iterator[None]:
    with _stopped(scene, 'mariadb'):
        time.sleep(3)
    time.sleep(3)
    with _stopped(scene, 'cinder-scheduler'):
        yield


def _answers(fault: int | str, *, only_doors: bool) -> Fault:
    said = {
        'garbage': 'answers garbage',
        'silence': 'never answers',
        'late': 'answers late',
    }.get(fault, f'answers {fault}')
    return Fault(
        name=f'Glance {said}'
        + (', to cinder-tiers only' if only_doors else ''),
        inject=lambda scene: _answered(
            scene, fault, DOORS_AGENT if only_doors else None
        ),
        after=0.1 if only_doors else 0.25,
        for_s=None if only_doors else 15.0,
        must_pass=(ALL_KINDS if only_doors else faults_load.WITHOUT_IMAGE),
        through_proxy=True,
        is_cold=only_doors,
        only_doors=only_doors,
    )


@contextlib.contextmanager
def _tiers_changed(scene: Scene) -> Iterator[None]:
    """Change tiers all the time, in all ways that Cinder allows."""
    changes = _TierChanges(scene)
    changes.untag('database')
    thread = threading.Thread(target=changes.run)
    thread.start()
    try:
        yield
    finally:
        changes.end.set()
        thread.join()
    if changes.problem:
        raise changes.problem


class _TierChanges:
    """Applies the catalog anew, and has tiers that come and go.

    Cinder refuses to change or delete a volume type that has volumes, so all
    of that happens to types that have none yet. Access to a private type can
    be changed at any time.
    """

    def __init__(self, scene: Scene):
        self._cloud = scene.cloud
        self._later = scene.later
        self._storage = scene.cloud.admin.block_storage
        self.end = threading.Event()
        self.problem: BaseException | None = None

    def untag(self, name: str) -> None:
        """Take the tags of a tier away, which apply brings back."""
        tier = self._storage.find_type(name, ignore_missing=False)
        self._later.callback(self._cloud.run, 'openstack', 'tier', 'apply')
        answer = self._storage.delete(
            f'/types/{tier.id}/extra_specs/tiers:tags'
        )
        if answer.status_code != 404:  # gone since a run that was killed
            answer.raise_for_status()

    def run(self) -> None:
        """Change tiers until the end is set."""
        try:
            self.end.wait(5)
            self._cloud.run('openstack', 'tier', 'apply')
            for number in itertools.count():
                if self.end.is_set():
                    return
                self._short_lived_tier(number)
        except BaseException as problem:  # noqa: BLE001 - for who waits
            self.problem = problem

    def _short_lived_tier(self, number: int) -> None:
        """A tier above all others, for the same tag."""
        project = self._cloud.member.current_project_id
        name, is_public = f'fault-{number}', number % 3 == 2
        tier = self._storage.create_type(name=name, is_public=is_public)
        # if it has volumes when its time is over
        self._later.callback(self._storage.delete_type, tier.id)
        specs = {
            'volume_backend_name': 'tier-database',
            'tiers:name': name,
            'tiers:tags': 'database',
            'tiers:priority': str(100 + number),
        }
        path = f'/types/{tier.id}'
        for key, value in specs.items():  # one by one, as it is half made
            self._storage.post(
                f'{path}/extra_specs', json={'extra_specs': {key: value}}
            )
        for _ in range(15 + number % 4):
            if self.end.is_set():
                break
            if not is_public:
                self._storage.add_type_access(tier.id, project)
            self.end.wait(0.2)
            if not is_public:
                self._storage.remove_type_access(tier.id, project)
            self.end.wait(0.1)
        # both refused once it has volumes
        self._storage.delete(f'{path}/extra_specs/tiers:name')
        self._storage.delete(path)


FAULTS = (
    Fault(
        name='no fault',
        inject=lambda scene: contextlib.nullcontext(),
        for_s=None,
        must_pass=ALL_KINDS,
    ),
    Fault(
        name='Glance stopped',
        for_s=12.0,
        inject=lambda scene: _stopped(scene, 'glance-api'),
        must_pass=faults_load.WITHOUT_IMAGE,
    ),
    Fault(
        name='Glance frozen',
        inject=lambda scene: scene.cloud.frozen('glance-api'),
        for_s=20.0,
        must_pass=faults_load.WITHOUT_IMAGE,
    ),
    *(
        _answers(fault, only_doors=False)
        for fault in (403, 404, 500, 'garbage')
    ),
    *(_answers(fault, only_doors=True) for fault in ANSWERS),
    Fault(
        name='token revoked',
        inject=_tokens_revoked,
        after=0.0,
        for_s=None,
        own_tokens=True,
        must_pass=faults_load.WITHOUT_IMAGE,
    ),
    Fault(
        name='database restarted',
        for_s=5.0,
        inject=lambda scene: _stopped(scene, 'mariadb'),
        must_pass=frozenset(),
        spares_kinds=False,
    ),
    Fault(
        name='scheduler restarted',
        inject=lambda scene: _stopped(scene, 'cinder-scheduler'),
        for_s=0.0,
        must_pass=frozenset(),
        spares_kinds=False,
    ),
    Fault(
        name='tiers changed',
        inject=_tiers_changed,
        after=0.0,
        for_s=None,
        must_pass=ALL_KINDS,
    ),
)

# Several faults in one run, for tests that have little time.
EACH_ANSWER = Fault(
    name='Glance answers wrongly in turn, to cinder-tiers only',
    inject=_answered_in_turn,
    after=0.05,
    for_s=None,
    must_pass=ALL_KINDS,
    through_proxy=True,
    is_cold=True,
    only_doors=True,
)
GLANCE_GONE = Fault(
    name='Glance stopped, then frozen',
    inject=_glance_gone,
    for_s=0.0,
    must_pass=faults_load.WITHOUT_IMAGE,
    holds_s=_FROZEN_S,
)
RESTARTS = Fault(
    name='database and scheduler restarted',
    inject=_restarts,
    for_s=0.0,
    must_pass=frozenset(),
    spares_kinds=False,
)
TIERS_CHANGED = FAULTS[-1]
