# SPDX-License-Identifier: Apache-2.0

"""What an honest tenant feels of a hostile one, by what Glance is asked for.

Four honest projects create volumes from one public image that all of them
use, and from images that nobody has used yet. Beside them a hostile tenant
with one project or more creates as many volumes as it can from images that
are slow, missing, huge, or make Glance hang or fail. Each row is one kind of
hostility; in the rows `alone` there is none, in `outage` Glance hangs for all.

All threads ask for images as both doors do. Glance is a stand-in that answers
in 20 ms. All times of the options are a fifth of the defaults, and a timeout
is 1 s.

Threads are native unless OS_CINDER_DISABLE_EVENTLET_PATCHING is 0: then they
are eventlet's, as in cinder-scheduler by default.
"""

import argparse
import collections
import dataclasses
import json
import pathlib
import statistics
import sys
import threading
import time
import uuid

# First of all: it lets Cinder choose the kind of threads.
from tests.unit import native_threads

native_threads.choose()

from cinder import context as cinder_context  # noqa: E402
from cinder import objects  # noqa: E402

# Cinder's modules need all objects to be known before they are imported.
objects.register_all()

from cinder_tiers.domain.placement import decision  # noqa: E402
from cinder_tiers.doors.images import glance  # noqa: E402
from cinder_tiers.doors.images import known_images  # noqa: E402

GLANCE_S = 0.02
PAUSE_S = 0.02
HONEST_PROJECTS = 4
THREADS_OF_A_PROJECT = 2
HOSTILE_THREADS = 48
LIMITS = known_images.CacheLimits(
    timeout_s=1.0,
    max_calls=16,
    failures=3,
    retry_s=2.0,
    image_ttl_s=2.0,
    stale_s=720.0,
)
POPULAR = str(uuid.uuid4())
#: 1 MiB of them.
HUGE_TAGS = 4096
#: {kind of hostility: whether images are named instead of given by id}
KINDS = {
    'slow': False,
    'hanging': False,
    'failing': False,
    'flapping': False,
    'huge': False,
    'missing': False,
    'names': True,
    'outage': False,
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Create:
    """An image that an honest project has asked for."""

    is_popular: bool
    seconds: float
    is_known: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """What the honest tenant felt, and what the process had to hold."""

    hostility: str
    projects: int
    #: Of 100 creates those whose image was known.
    popular_percent: float
    new_percent: float
    #: Mean and 95th percentile of the seconds that a create waited.
    mean_s: float
    late_s: float
    #: Calls to Glance for a create of an honest project, and for a second of
    #: the hostile tenant.
    calls_of_a_create: float
    hostile_calls_a_second: float
    most_calls: int
    most_threads: int
    memory_mib: float


class Glance:
    """Answers after a while; not to the hostile projects."""

    def __init__(self, kind):
        """It answers all until it is used.

        :param kind: of `KINDS`, or alone.
        """
        self._kind = kind
        self._lock = threading.Lock()
        self.calls = collections.Counter()
        self.is_out = False
        #: Ends all that hangs.
        self.ended = threading.Event()

    def __call__(self, context, ref, on_name):
        project = context.project_id
        is_hostile = project.startswith('hostile')
        with self._lock:
            self.calls[is_hostile] += 1
            number = self.calls[is_hostile]
        time.sleep(GLANCE_S)
        if self.is_out or (is_hostile and self._kind in ('hanging', 'names')):
            self._hang()
        tags = ()
        if is_hostile:
            if self._kind == 'slow':
                self.ended.wait(0.7 * LIMITS.timeout_s)
            elif self._kind == 'failing' or (
                self._kind == 'flapping' and number % 4
            ):
                raise glance.ImageUnreadable('500')
            elif self._kind == 'missing':
                self._look_for_name(on_name)
            elif self._kind == 'huge':
                tags = [f'{ref}{number:0>220}' for number in range(HUGE_TAGS)]
        return glance.ImageFacts(
            image_id=ref,
            volume_type=None,
            boot_snapshot=False,
            image=decision.Image(
                owner=None, visibility='public', tags=frozenset(tags)
            ),
        )

    def _hang(self):
        self.ended.wait(600)
        raise glance.ImageUnreadable('late')

    def _look_for_name(self, on_name):
        # As `glance.fetch_image` does where no image has the id.
        try:
            on_name()
            self._hang()
        except glance.ImageUnreadable as error:
            raise glance.ImageRefused('404', is_lasting=True) from error


class Run:
    """Honest projects beside hostile ones, for a while."""

    def __init__(self, kind, projects):
        """Nothing is asked for yet.

        :param kind: of `KINDS`, or alone.
        :param projects: number of the hostile ones.
        """
        self._kind = kind
        self._projects = projects
        self._glance = Glance(kind)
        self._images = known_images.Images(size=10000, fetch=self._glance)
        self._creates = []
        self._ended = threading.Event()

    def measure(self, seconds):
        """Run for a while, and return what the honest tenant felt.

        :param seconds: how long.
        """
        # What everybody uses was used before.
        self._read('honest 0', POPULAR)
        self._glance.is_out = self._kind == 'outage'
        before_mib, hostile = resident_mib(), []
        if self._kind not in ('alone', 'outage'):
            hostile = [
                threading.Thread(
                    target=self._be_hostile,
                    args=(f'hostile {number % self._projects}',),
                    daemon=True,
                )
                for number in range(max(HOSTILE_THREADS, self._projects))
            ]
        honest = [
            threading.Thread(
                target=self._be_honest,
                args=(f'honest {number % HONEST_PROJECTS}',),
                daemon=True,
            )
            for number in range(HONEST_PROJECTS * THREADS_OF_A_PROJECT)
        ]
        ours = threading.active_count()
        for thread in hostile + honest:
            thread.start()
        most_calls = most_threads = 0
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.05)
            most_calls = max(most_calls, self._images.calls_under_way)
            most_threads = max(
                most_threads,
                threading.active_count() - ours - len(hostile + honest),
            )
        calls = self._glance.calls.copy()
        memory_mib = resident_mib() - before_mib
        self._ended.set()
        self._glance.ended.set()
        for thread in hostile + honest:
            thread.join(60)
        waited = sorted(one.seconds for one in self._creates)
        return Row(
            hostility=self._kind,
            projects=self._projects if hostile else 0,
            popular_percent=self._known_percent(is_popular=True),
            new_percent=self._known_percent(is_popular=False),
            mean_s=statistics.mean(waited),
            late_s=waited[int(0.95 * len(waited))],
            calls_of_a_create=calls[False] / len(waited),
            hostile_calls_a_second=calls[True] / seconds,
            most_calls=most_calls,
            most_threads=most_threads,
            memory_mib=memory_mib,
        )

    def _known_percent(self, *, is_popular):
        known = [
            one.is_known
            for one in self._creates
            if one.is_popular == is_popular
        ]
        return 100 * sum(known) / len(known) if known else float('nan')

    def _read(self, project, ref):
        """Whether the image is known."""
        context = cinder_context.RequestContext(
            user_id='user', project_id=project, is_admin=False
        )
        try:
            self._images.read(context, ref, LIMITS)
        except glance.ImageUnreadable:
            return False
        return True

    def _be_hostile(self, project):
        while not self._ended.is_set():
            ref = str(uuid.uuid4())
            self._read(project, f'name {ref}' if KINDS[self._kind] else ref)
            time.sleep(PAUSE_S)

    def _be_honest(self, project):
        is_popular = False
        while not self._ended.is_set():
            is_popular = not is_popular
            started = time.monotonic()
            is_known = self._read(
                project, POPULAR if is_popular else str(uuid.uuid4())
            )
            if not self._ended.is_set():
                self._creates.append(
                    Create(
                        is_popular=is_popular,
                        seconds=time.monotonic() - started,
                        is_known=is_known,
                    )
                )
            time.sleep(PAUSE_S)


def resident_mib():
    """Return the resident memory of this process in MiB."""
    text = pathlib.Path('/proc/self/status').read_text('utf-8')
    line = next(one for one in text.splitlines() if one.startswith('VmRSS:'))
    return int(line.split()[1]) / 1024


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.hostile_tenant',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--kinds',
        nargs='+',
        default=list(KINDS),
        choices=list(KINDS),
        help='of hostility; default: all',
    )
    parser.add_argument(
        '--projects',
        type=int,
        nargs='+',
        default=[1, 2, 50],
        metavar='N',
        help='of the hostile tenant; default: 1, 2 and 50',
    )
    parser.add_argument(
        '--seconds',
        type=float,
        default=10.0,
        help='for each row; default %(default)s',
    )
    parser.add_argument('--json', metavar='FILE', help='write the rows')
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    rows = [Run('alone', 0).measure(options.seconds)]
    print(
        'hostility  projects  popular %  new %  mean/alone  95th/alone  '
        'calls/create  hostile calls/s  most calls  threads     MiB'
    )
    for kind in ('alone', *options.kinds):
        for projects in (
            [0] if kind in ('alone', 'outage') else (options.projects)
        ):
            row = (
                rows[0]
                if kind == 'alone'
                else Run(kind, projects).measure(options.seconds)
            )
            if row is not rows[0]:
                rows.append(row)
            print(
                f'{row.hostility:9}  {row.projects:8}  '
                f'{row.popular_percent:9.1f}  {row.new_percent:5.1f}  '
                f'{row.mean_s / rows[0].mean_s:10.2f}  '
                f'{row.late_s / rows[0].late_s:10.2f}  '
                f'{row.calls_of_a_create:12.2f}  '
                f'{row.hostile_calls_a_second:15.1f}  '
                f'{row.most_calls:10}  {row.most_threads:7}  '
                f'{row.memory_mib:6.1f}',
                flush=True,
            )
    if options.json:
        pathlib.Path(options.json).write_text(
            json.dumps([dataclasses.asdict(row) for row in rows])
        )


if __name__ == '__main__':
    main(sys.argv[1:])
