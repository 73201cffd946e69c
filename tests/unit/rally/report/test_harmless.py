# SPDX-License-Identifier: Apache-2.0

"""Rally's own HTML report of runs whose guests and clouds are hostile."""

import functools
from html import parser
import json
import re
import uuid

import fixtures
from hypothesis import example
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
from rally import plugins
from rally.task.processing import plot
from rally.task import sla
from rally.task import utils as task_utils
import testtools

plugins.load()  # rally_openstack cannot be imported before

from rally_scenarios.plugins.fleet import scenario as fleet_scenario
from rally_scenarios.plugins.report import harmless
from rally_scenarios.plugins import servers
import tests
from tests.unit.figures import recorded
from tests.unit.guest import console_text
from tests.unit.rally import fake_cloud

# What ends a script, or begins a comment in it that hides its end; an image
# that runs code where the text becomes markup, and the brackets of AngularJS.
MARKUP = (
    '</script><script>alert(1)</script>',
    '</SCRIPT\t><svg/onload=alert(1)>',
    '<!--<script>',
    '--><img/src=x/onerror=alert(1)>',
    "'\"><b>{{constructor.constructor('alert(1)')()}}",
    '<\u2028/script>',
)
TEXTS = strategies.sampled_from(MARKUP) | strategies.text(
    alphabet='</>!-scriptSCRIPT \'"{}&;=\\\u2028\x00\x1b', max_size=40
)
# What a field of an event can have.
WORDS = TEXTS.map(lambda text: re.sub('[^!-~]', '/', text))
ARGS = {
    'fleets': [
        {'tier': 'database', 'image': 'db'},
        {'tier': 'general', 'image': 'plain'},
    ],
    'patterns': [
        {'name': 'randwrite-4k', 'rw': 'randwrite', 'bs': '4k', 'iodepth': 16}
    ],
    'flavor': '1',
    'guests_per_tier': 2,
    'repeats': 2,
    'listen_every_seconds': 0,
}
EXPECTED = {
    'expect': {'database': {'randwrite-4k': {'iops_min': 999}}},
    'losses': {'lost': 0, 'failed': 0},
}


NO_OUTPUT = {'additive': [], 'complete': []}


class _Tags(parser.HTMLParser):
    """What of a page is markup: (tag, attributes), comments as one."""

    def __init__(self):
        super().__init__(convert_charrefs=False)
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, attrs))

    def handle_endtag(self, tag):
        self.found.append(f'/{tag}')

    def handle_comment(self, data):
        self.found.append('comment')


def markup(page):
    """All markup of a page; what is in a script is none."""
    tags = _Tags()
    tags.feed(page)
    tags.close()
    return tags.found


def page(*iterations, sla_detail='-'):
    """Rally's HTML report of the iterations of one workload."""
    started = '2026-11-21T20:00:00'
    workload = {
        'uuid': str(uuid.uuid4()),
        'name': 'CinderTiers.fleet_fio',
        'position': 0,
        'description': '-',
        'args': {},
        'runner': {'constant': {'times': 1}},
        'runner_type': 'constant',
        'contexts': {},
        'contexts_results': [],
        'hooks': [],
        'sla': {},
        'min_duration': 1,
        'max_duration': 1,
        'total_iteration_count': len(iterations),
        'failed_iteration_count': sum(
            bool(each['error']) for each in iterations
        ),
        'load_duration': 1,
        'full_duration': 1,
        'start_time': 0,
        'created_at': started,
        'pass_sla': True,
        'sla_results': {
            'sla': [
                {
                    'criterion': 'cinder_tiers',
                    'detail': sla_detail,
                    'success': True,
                }
            ]
        },
        'statistics': {'durations': {'atomics': [], 'total': {}}},
        'data': [
            {
                'timestamp': 0,
                'duration': 1,
                'idle_duration': 0,
                'atomic_actions': [],
                **each,
            }
            for each in iterations
        ],
    }
    return plot.plot(
        [
            {
                'uuid': str(uuid.uuid4()),
                'title': '-',
                'description': '-',
                'tags': [],
                'env_name': '-',
                'created_at': started,
                'subtasks': [
                    {
                        'title': '-',
                        'description': '-',
                        'workloads': [workload],
                    }
                ],
            }
        ]
    )


@functools.cache
def page_of_nothing():
    """The markup of a page that has no text of a guest or of a cloud."""
    return markup(page({'error': [], 'output': NO_OUTPUT}))


def _speaks(kernel, version, model, last_words):
    """A guest whose texts these are."""

    def do(lines):
        guest, run = lines[0].split()[3], lines[0].split()[2]
        document = json.loads(recorded.text('randwrite-4k'))
        document['fio version'] = version
        found = [line for line in lines if ' data ' not in line]
        found[0] = console_text.event(
            1, f'BOOT at=9000 kernel={kernel}', guest=guest, run=run
        )
        found.append(
            console_text.event(
                80,
                f'FACTS cpus=2 vendor={kernel} os={kernel} bus={kernel}'
                f' cache={kernel} scheduler={kernel} clock={kernel}'
                f' clocks={kernel} : {model}',
                guest=guest,
                run=run,
            )
        )
        for slot in {line.split()[5] for line in lines if ' data ' in line}:
            found += console_text.result(
                slot, json.dumps(document).encode(), guest=guest, run=run
            )
        if last_words is not None:
            found[-1] += last_words + '\n'
            found = [line for line in found if ' event 6 ' not in line]
            found.append(
                console_text.event(
                    81,
                    f'FIO-FAILED slot=1 rc=1 : {last_words}',
                    guest=guest,
                    run=run,
                )
            )
        return found

    return do


class HarmlessReportTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.FakeLogger())
        self.folder = self.useFixture(fixtures.TempDir()).path

    def iteration(self, cloud):
        """What Rally's runner keeps of a run (rally/task/runner.py)."""
        owner = str(uuid.uuid4())
        run = fleet_scenario.FleetFio(
            context={
                'owner_id': owner,
                'task': {'uuid': owner},
                'cinder_tiers_start_signal': {'volume_type': 'shared'},
            },
            clients=cloud.clients(),
            clock=cloud.clock,
        )
        error = []
        try:
            run.run(**ARGS, result_folder=self.folder)
        except servers.FleetError as found:
            error = task_utils.format_exc(found)
        # As it comes out of Rally's database.
        return json.loads(json.dumps({'error': error, 'output': run._output}))

    def cloud(self, **guests):
        cloud = fake_cloud.Cloud(
            images={'db': ['image-db'], 'plain': ['image-plain']},
            multiattach_types={'shared'},
        )
        cloud.guests_do.update(guests)
        cloud.guests_stop.update(guests)
        return cloud

    def pages(self, **guests):
        """(markup of the page, iteration) of a run with such guests."""
        iteration = self.iteration(self.cloud(**guests))
        checker = sla.SLAChecker({'sla': {'cinder_tiers': EXPECTED}})
        checker.add_iteration({'duration': 1, **iteration})
        tags = markup(
            page(iteration, sla_detail=checker.results()[0]['detail'])
        )
        return tags, str(iteration['output'])

    @settings(max_examples=8, deadline=None)
    @given(WORDS, TEXTS, TEXTS, TEXTS)
    @example(*MARKUP[:4])
    @example(*MARKUP[:1] * 4)
    @example('script', *MARKUP[:3])
    def test_no_text_of_a_guest_becomes_markup(
        self, kernel, version, model, last_words
    ):
        found, shown = self.pages(
            g001=_speaks(kernel, version, model, None),
            g003=_speaks(kernel, version, model, last_words),
        )
        self.assertEqual(page_of_nothing(), found)
        if kernel.isalpha():
            # It did get there: the run did not just fail before.
            self.assertIn(kernel, shown)

    @tests.examples(100)
    @given(TEXTS)
    @example(MARKUP[0])
    def test_no_error_becomes_markup(self, text):
        class Odd(Exception):
            """Whose text is not made of its arguments."""

            def __str__(self):
                return text

        failed = []
        for error, cause in (
            (servers.FleetError(text), None),
            (servers.FleetError('x'), ValueError(text)),
            (Odd(), None),
            (servers.FleetError('x'), Odd()),
        ):
            try:
                with harmless.errors():
                    raise error from cause
            except Exception as left:  # noqa: BLE001 - as Rally
                found = task_utils.format_exc(left)
            failed.append({'error': found, 'output': NO_OUTPUT})
        self.assertEqual(page_of_nothing(), markup(page(*failed)))

    def test_the_page_of_unclean_text_has_more_markup(self):
        """Why the tests above can fail: this is what Rally does."""
        found = markup(
            page({'error': ['X', MARKUP[0], 'x'], 'output': NO_OUTPUT})
        )
        self.assertGreater(len(found), len(page_of_nothing()))
