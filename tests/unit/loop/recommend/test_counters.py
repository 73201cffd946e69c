# SPDX-License-Identifier: Apache-2.0

"""What running volumes do, from counters, with suspicion."""

import json

import ddt
import testtools

from cinder_tiers.domain import record
from cinder_tiers.loop.recommend import counters
from tests.unit.loop.recommend import test_recommendation


@ddt.ddt
class CountersTestCase(testtools.TestCase):
    def test_an_image_is_a_load(self):
        ((found,),) = counters.of_iostat(
            json.dumps([test_recommendation.image()]).encode()
        )
        self.assertEqual(
            ('tier-general/volume-1', 'tier-general', 500),
            (found.name, found.pool, found.iops),
        )
        self.assertEqual(20, found.load.read_percent)
        self.assertEqual({'read': 4096, 'write': 8192}, found.load.block_bytes)
        # Little: 400/s x 15 ms + 100/s x 20 ms.
        self.assertAlmostEqual(8, found.load.in_flight)

    def test_the_image_of_a_watch_is_no_volume(self):
        name = 'cinder-tiers-watch'
        probe = test_recommendation.image(pool_namespace=name, image=name)
        # An image of that name outside of the namespace may be a volume.
        other = test_recommendation.image(image=name)
        self.assertEqual(
            [f'tier-general/{name}'],
            [
                one.name
                for (one,) in counters.of_iostat(
                    json.dumps([probe, other]).encode()
                )
            ],
        )

    def test_outputs_may_follow_one_another(self):
        one = test_recommendation.image()
        two = test_recommendation.image(image='volume-2')
        text = f'{json.dumps([one])}\n\n{json.dumps([two, one])}[]\n'
        self.assertEqual(
            [
                ['tier-general/volume-1'],
                ['tier-general/volume-2', 'tier-general/volume-1'],
                [],
            ],
            [
                [volume.name for volume in look]
                for look in counters.of_iostat(text.encode())
            ],
        )
        wrong = {**two, 'read_ops': None}
        for text, said in (
            (f'{json.dumps([one])}[{{', 'output 2, which begins in line 1: '),
            (f'{json.dumps([one])}7', 'output 2, rbd perf'),
            (f'[]{json.dumps([wrong])}', 'output 2, image 1: read_ops'),
            ('[]' * 10_001, 'more than 10000 outputs'),
            (b'\xff', 'output 1, which begins in line 1: found no JSON'),
            ('[' * 100_000, 'found no JSON'),
        ):
            error = self.assertRaises(
                record.RecordError,
                counters.of_iostat,
                text if isinstance(text, bytes) else text.encode(),
            )
            self.assertIn(said, str(error))

    @ddt.data(
        b'[{"image": "vol',
        b'[{"image": "vol\n[]\n',
        b'[{"image": "v\xff"}]',
        b'\0\n[]',
        b'\xef\xbb\xbf[]',
        b'garbage',
        b'[' * 100_000,
    )
    def test_one_output_that_is_cut_off_is_named(self, cut):
        good = json.dumps([test_recommendation.image()], indent=1).encode()
        lines = good.count(b'\n') + 1
        error = self.assertRaises(
            record.RecordError,
            counters.of_iostat,
            b'\n%b\n%b\n%b' % (good, good, cut),
        )
        self.assertIn(
            f'output 3, which begins in line {2 + 2 * lines}: found no JSON',
            str(error),
        )
        self.assertIn(
            'if the command was interrupted, remove what it wrote', str(error)
        )

    def test_an_image_that_does_next_to_nothing_is_idle(self):
        idle = test_recommendation.image(write_ops=0.4, read_ops=0.2)
        ((found,),) = counters.of_iostat(json.dumps([idle]).encode())
        self.assertIsNone(found.load)

    def test_disks_of_a_server(self):
        (found,) = counters.of_diagnostics([test_recommendation.diagnostics()])
        self.assertEqual(
            ('disk 1', None, 40), (found.name, found.pool, found.iops)
        )
        self.assertEqual(25, found.load.read_percent)
        self.assertIsNone(found.load.in_flight)

    def test_what_was_done_between_two_diagnostics(self):
        later = test_recommendation.diagnostics(
            200,
            [
                test_recommendation.disk(
                    write_requests=4000,
                    write_bytes=8192 * 3000 + 1000 * 65536,
                )
            ],
        )
        for texts in (
            [test_recommendation.diagnostics(), later],
            [later, test_recommendation.diagnostics()],
        ):
            (found,) = counters.of_diagnostics(texts)
            self.assertEqual(10, found.iops)
            self.assertEqual({'write': 65536}, found.load.block_bytes)

    def test_one_count_does_not_show_that_a_disk_is_idle(self):
        # Launched a month ago and migrated an hour ago, with 100 IOPS since.
        month = 30 * 86400
        busy = {'read_requests': 0, 'write_requests': 360_000}
        before = test_recommendation.diagnostics(
            month, [test_recommendation.disk(**busy)]
        )
        (found,) = counters.of_diagnostics([before])
        self.assertIsNone(found.load)
        self.assertIn('name its diagnostics twice', found.doubt)
        later = test_recommendation.disk(**{**busy, 'write_requests': 366_000})
        (found,) = counters.of_diagnostics(
            [before, test_recommendation.diagnostics(month + 60, [later])]
        )
        self.assertEqual((100, ''), (found.iops, found.doubt))
        (found,) = counters.of_diagnostics(
            [
                before,
                test_recommendation.diagnostics(
                    month + 60, [test_recommendation.disk(**busy)]
                ),
            ]
        )
        self.assertEqual((None, ''), (found.load, found.doubt))

    @ddt.data(
        b'',
        b'{',
        b'[' * 100_000,
        b'{}',
        b'[1]',
        b'[{}]',
        b'[{"pool": 1}]',
        json.dumps([test_recommendation.image(write_ops=-1)]).encode(),
        json.dumps(
            [test_recommendation.image(write_ops=float('nan'))]
        ).encode(),
        json.dumps(
            [test_recommendation.image(read_latency=float('inf'))]
        ).encode(),
        json.dumps([test_recommendation.image(write_ops=True)]).encode(),
        json.dumps([test_recommendation.image(write_ops='400')]).encode(),
        json.dumps([test_recommendation.image(image=None)]).encode(),
        json.dumps(
            [test_recommendation.image(), test_recommendation.image()]
        ).encode(),
        b'[{"write_ops": ' + b'9' * 10_000 + b'}]',
        b'\xff\xfe',
    )
    def test_other_output_of_an_image_is_refused(self, text):
        self.assertRaises(record.RecordError, counters.of_iostat, text)

    @ddt.data(
        (b'[]',),
        (b'{"disk_details": 1, "uptime": 3}',),
        (b'{"disk_details": [], "uptime": 0}',),
        (test_recommendation.diagnostics(0),),
        (test_recommendation.diagnostics('long'),),
        (test_recommendation.diagnostics(disks=[{}]),),
        (test_recommendation.diagnostics(), test_recommendation.diagnostics()),
        (
            test_recommendation.diagnostics(),
            test_recommendation.diagnostics(
                200, [test_recommendation.disk(), test_recommendation.disk()]
            ),
        ),
        (
            test_recommendation.diagnostics(),
            test_recommendation.diagnostics(
                200, [test_recommendation.disk(read_requests=1)]
            ),
        ),
        (
            test_recommendation.diagnostics(),
            test_recommendation.diagnostics(2),
            test_recommendation.diagnostics(3),
        ),
    )
    def test_other_diagnostics_are_refused(self, texts):
        self.assertRaises(record.RecordError, counters.of_diagnostics, texts)

    def test_of_many_faults_a_few_are_shown(self):
        error = self.assertRaises(
            record.RecordError,
            counters.of_iostat,
            json.dumps(
                [
                    test_recommendation.image(write_ops=-1, image=str(n))
                    for n in range(50)
                ]
            ).encode(),
        )
        self.assertEqual(11, len(str(error).splitlines()))
        self.assertIn('and 40 more', str(error))
