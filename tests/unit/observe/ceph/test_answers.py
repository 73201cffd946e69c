# SPDX-License-Identifier: Apache-2.0

"""Answers of Ceph that are not as known are one clear failure."""

import copy
import dataclasses

import ddt
import fixtures
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.observe.ceph import answers
from cinder_tiers.observe.ceph import cluster
from cinder_tiers.observe.ceph.osd import osd_metadata
from cinder_tiers.observe.ceph import usage
from cinder_tiers.observe import for_export
import tests
from tests.contract import every_kind
from tests.contract import recorded
from tests.unit.observe import test_releases
from tests.worlds import in_memory


LEFT_OUT = object()


class Watched(dict):
    """An object of JSON that knows which of its keys were read.

    :param seen: {(request, path of keys): None}; gets them.
    """

    def __init__(self, content, seen, place):
        super().__init__(
            {
                key: watched(value, seen, (*place, key))
                for key, value in content.items()
            }
        )
        self.seen, self.place = seen, place

    def __getitem__(self, key):
        self.seen[*self.place, key] = None
        return super().__getitem__(key)

    def get(self, key, default=None):
        self.seen[*self.place, key] = None
        return super().get(key, default)


def watched(value, seen, place):
    if isinstance(value, dict):
        return Watched(value, seen, place)
    if isinstance(value, list):
        return [
            watched(one, seen, (*place, index))
            for index, one in enumerate(value)
        ]
    return value


def of_another_type(value):
    return [7] if isinstance(value, str | dict) else 'odd'


def changed(answer, path, value):
    """An answer of which one value is another; the rest is not copied."""
    answer = inner = copy.copy(answer)
    for key in path[:-1]:
        inner[key] = copy.copy(inner[key])
        inner = inner[key]
    if value is LEFT_OUT:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return answer


def value_at(answer, path):
    for key in path:
        if isinstance(answer, dict) and key not in answer:
            return LEFT_OUT
        answer = answer[key]
    return answer


def first_of_each(seen):
    """One place of those that differ in arguments and indices only."""
    found = {}
    for line, *path in seen:
        found.setdefault(
            (
                commands_of(line)[-1],
                *('[]' if isinstance(key, int) else key for key in path),
            ),
            (line, *path),
        )
    return found.values()


def commands_of(line):
    """The command in a recorded request, of which the arguments follow."""
    words = [word for word in line.split()[1:] if not word.isdigit()]
    words = [word for word in words if '=' not in word]
    return [' '.join(words[:count]) for count in range(1, len(words) + 1)]


@ddt.ddt
class UnknownAnswersTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MonkeyPatch('cinder_tiers.observe.ceph.usage.WAIT_S', 0.0)
        )

    @ddt.data(*test_releases.VERSIONS)
    def test_no_key_of_an_answer_ends_in_a_traceback(self, version):
        phase = every_kind.CHANGED
        told = recorded.read(
            test_releases.DATA / f'every-kind-{version}.json'
        )[phase]
        world = in_memory.World(osds=())

        catalog = every_kind.catalog_of(phase)
        cinder = world.observe().cinder

        def read(told):
            session = recorded.Replay(
                told,
                cluster=catalogs.Cluster(
                    name='ceph', cinder_user=every_kind.MARK
                ),
            )
            ceph = dataclasses.replace(
                cluster.observe(session, catalog),
                usage=usage.attempt(session),
            )
            plans.make(
                catalog=catalog,
                actual=actual_state.ActualState(
                    cinder=cinder, ceph={'ceph': ceph}
                ),
            )
            osd_metadata.observe(session, host='-')
            for_export.read_cluster(session, ())

        seen = {}
        read(
            {
                line: {**one, 'answer': watched(one['answer'], seen, (line,))}
                if 'answer' in one
                else one
                for line, one in told.items()
            }
        )
        tried = refused = 0
        wrong = []
        # Of each release others.
        places = tests.share(
            [*enumerate(first_of_each(seen))],
            test_releases.VERSIONS.index(version),
        )
        for index, (line, *path) in places:
            if line.startswith('rbd_options'):
                continue  # of librbd, which gives texts
            answer = told[line]['answer']
            now = value_at(answer, path)
            if now is LEFT_OUT:
                continue
            # Of the others one each, as there are three releases.
            for value in (LEFT_OUT, (None, of_another_type(now))[index % 2]):
                tried += 1
                odd = {'answer': changed(answer, path, value)}
                try:
                    read({**told, line: odd})
                except answers.UnknownAnswer as error:
                    refused += 1
                    if not any(
                        f'"{command}"' in str(error)
                        for command in commands_of(line)
                    ):
                        wrong.append((line, path, value, str(error)))
                except errors.ProblemsFound:
                    # What is left out may be absent: then it is counted as
                    # that, and the tiers file asks for more than there is.
                    continue
                except Exception as error:  # noqa: BLE001 - looked for
                    wrong.append((line, path, value, repr(error)))
        self.assertEqual([], wrong)
        self.assertGreater(tried, tests.draws(300))
        self.assertGreater(refused, tried / 4)
