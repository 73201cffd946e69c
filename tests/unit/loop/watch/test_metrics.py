# SPDX-License-Identifier: Apache-2.0

"""The metrics of watched tiers, as the client of Prometheus reads them."""

import dataclasses
import os
import pathlib
import stat
import tempfile

from prometheus_client import parser
import testtools

from cinder_tiers.domain import errors
from cinder_tiers.loop.watch import judgement
from cinder_tiers.loop.watch import metrics
from cinder_tiers.loop.watch import series
from cinder_tiers.loop.watch import use_case

PREFIX = 'cinder_tiers_watch_'


def watched(**verdict):
    """A tier of which each tenth write takes ten times as long."""
    window = series.TierWindow(
        began_at=1_700_000_000.0,
        write_ms=(10.0,) * 9 + (100.0,),
        read_ms=(2.0,) * 10,
        status=series.Status(client_iops=250.0),
    )
    return use_case.Watched(
        kept=series.Series(
            tier='a "tier"', pools=('x',), windows=(window,) * 60
        ),
        verdict=judgement.TierVerdict(**verdict),
        probe_iops=2.5,
    )


class MetricsTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.path = os.path.join(self.folder, 'watch.prom')

    def samples(self, *found):
        """{(name, labels without the tier): value} of the file."""
        metrics.WindowMetricsFile(self.path).write(found)
        text = pathlib.Path(self.path).read_text()
        samples = {}
        for family in parser.text_string_to_metric_families(text):
            for sample in family.samples:
                labels = dict(sample.labels)
                self.assertEqual('a "tier"', labels.pop('tier'))
                name = sample.name.removeprefix(PREFIX)
                samples[(name, *labels.values())] = sample.value
        return samples

    def test_latencies_are_of_ten_minutes(self):
        found = watched(state=judgement.TierState.SOUND)
        (window, *_) = found.kept.windows
        slow = dataclasses.replace(
            window, began_at=window.began_at - 600, write_ms=(9000.0,) * 10
        )
        found = dataclasses.replace(
            found,
            kept=dataclasses.replace(
                found.kept, windows=(slow,) * 20 + (window,) * 5
            ),
        )
        values = [
            value
            for key, value in self.samples(found).items()
            if key[:2] == ('latency_seconds', 'write')
        ]
        self.assertEqual(0.1, max(values))

    def test_what_is_written(self):
        found = self.samples(
            watched(state=judgement.TierState.SLOWER, since=1_700_000_123.0)
        )
        states = {
            key[1]: value for key, value in found.items() if key[0] == 'state'
        }
        self.assertEqual(
            {
                'hangs': 0,
                'fails': 0,
                'broken': 0,
                'slower': 1,
                'unknown': 0,
                'sound': 0,
            },
            states,
        )
        self.assertEqual(
            {
                ('since_timestamp_seconds',): 1_700_000_123.0,
                ('latency_seconds', 'write', '0.5'): 0.01,
                ('latency_seconds', 'write', '0.99'): 0.1,
                ('latency_seconds', 'read', '0.5'): 0.002,
                ('latency_seconds', 'read', '0.99'): 0.002,
                ('pending_seconds',): 0.0,
                ('failed_ios',): 0.0,
                ('window_timestamp_seconds',): 1_700_000_000.0,
                ('probe_iops',): 2.5,
                ('client_iops',): 250.0,
            },
            {key: found[key] for key in found if key[0] != 'state'},
        )
        self.assertEqual(0o644, stat.S_IMODE(os.stat(self.path).st_mode))
        self.assertEqual(['watch.prom'], os.listdir(self.folder))

    def test_nothing_began_if_nothing_is_wrong(self):
        found = self.samples(watched(state=judgement.TierState.SOUND))
        self.assertNotIn(('since_timestamp_seconds',), found)

    def test_a_folder_that_is_missing_is_named(self):
        file = metrics.WindowMetricsFile(f'{self.folder}/none/watch.prom')
        refused = self.assertRaises(errors.TiersError, file.write, [])
        self.assertIn('none/watch.prom cannot be written', str(refused))

    def test_what_is_no_file_is_not_replaced(self):
        # /dev/null and /dev/stdout, which root could replace, are such.
        os.mkfifo(self.path)
        link = f'{self.folder}/link.prom'
        os.symlink(self.path, link)
        for path, found in (
            (self.path, 'not a regular file'),
            (link, 'a symbolic link'),
        ):
            refused = self.assertRaises(
                errors.TiersError, metrics.WindowMetricsFile(path).write, []
            )
            self.assertIn(found, str(refused))
            self.assertIn('--metrics', str(refused))
        self.assertTrue(stat.S_ISFIFO(os.stat(self.path).st_mode))
        self.assertTrue(os.path.islink(link))

    def test_node_exporter_may_read_it_whatever_was_there(self):
        with open(self.path, 'w', encoding='utf-8') as file:
            file.write('x')
        os.chmod(self.path, 0o600)
        metrics.WindowMetricsFile(self.path).write([])
        self.assertEqual(0o644, stat.S_IMODE(os.stat(self.path).st_mode))
