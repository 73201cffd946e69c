# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
"""Rally with our plugins, against real guests of the lab."""

import json
import pathlib

import fixtures

from tests.functional import lab

QUICK = str(lab.REPOSITORY / "rally_scenarios" / "tasks" / "quick.yaml")
#: One guest a tier and the shortest slots: these tests are of the chain.
SMALL = {"guests_per_tier": 1, "region_mib": 8, "ramp_seconds": 1,
         "runtime_seconds": 3}


class MeasurementTest(lab.LabTestCase):

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def start(self, expect=0, task=QUICK, **arguments):
        before = self.leftovers()
        output, errors = self.run_command(
            "rally", "task", "start", task, "--task-args",
            json.dumps({**SMALL, **arguments}), expect=expect)
        self.assertEqual(before, self.leftovers(), "not all was cleaned up")
        return output + errors

    def leftovers(self):
        """What a task could leave behind, names and numbers."""
        servers = self.ask("openstack", "server", "list", "--all-projects")
        volumes = self.ask("openstack", "volume", "list", "--all-projects")
        types = self.ask("openstack", "volume", "type", "list")
        projects = self.ask("openstack", "project", "list")
        images = sorted(
            image for pool in lab.POOLS
            for image in self.run_command("rbd", "ls", pool)[0].split())
        return (sorted(row["ID"] for row in servers),
                sorted(row["ID"] for row in volumes),
                sorted(row["Name"] for row in types),
                sorted(row["Name"] for row in projects), images)

    def outputs(self):
        """{title: data} of the complete outputs of the last task."""
        report, _ = self.run_command("rally", "task", "report", "--json")
        workload = json.loads(report)["tasks"][0]["subtasks"][0][
            "workloads"][0]
        return {output["title"]: output["data"]
                for iteration in workload["data"]
                for output in iteration["output"]["complete"]}

    def test_our_plugins_are_listed_without_a_warning(self):
        output, errors = self.run_command("rally", "plugin", "list")
        self.assertIn("CinderTiers.fleet_fio", output)
        # rally-openstack has warnings of its own
        ours = [line for line in (output + errors).splitlines()
                if "warn" in line.lower() and any(
                    name in line for name in
                    ("CinderTiers", "cinder_tiers", "rally_scenarios"))]
        self.assertEqual([], ours)

    def test_quick_measures_all_tiers_and_leaves_nothing(self):
        self.start()
        table = self.outputs()["CinderTiers: what each tier does"]
        rows = [dict(zip(table["cols"], row, strict=True))
                for row in table["rows"]]
        self.assertEqual(
            {(tier, pattern) for tier in ("database", "general", "archive")
             for pattern in ("randwrite-4k", "write-1m")},
            {(row["tier"], row["pattern"]) for row in rows})
        for row in rows:
            self.assertEqual("complete", row["verdict"])
            self.assertGreater(row["IOPS"], 0)
        report = self.folder / "report.html"
        self.run_command("rally", "task", "report", "--html-static", "--out",
                         str(report))
        self.assertIn("what each tier does", report.read_text())

    def test_a_missing_image_is_named(self):
        output = self.start(expect=2, database_image="no-such-image")
        self.assertIn("no-such-image", output)

    def test_a_guest_whose_fio_dies_is_named_and_the_others_are_kept(self):
        # more buffers than the guest has memory, for one pattern only
        task = self.folder / "task.yaml"
        text = pathlib.Path(QUICK).read_text()
        self.assertIn("iodepth: 4\n", text)
        task.write_text(text.replace("iodepth: 4\n", "iodepth: 1024\n"))
        output = self.start(expect=2, task=str(task))
        self.assertIn("write-1m", output)
        outputs = self.outputs()
        table = outputs["CinderTiers: what each tier does"]
        verdicts = {(row[0], row[1]): row[-1] for row in table["rows"]}
        self.assertEqual("complete", verdicts["database", "randwrite-4k"])
        self.assertEqual("0 of 1 guests", verdicts["database", "write-1m"])
