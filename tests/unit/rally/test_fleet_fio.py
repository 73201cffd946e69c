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

"""The scenario against a cloud in memory (fake_cloud.py)."""

import uuid

import fixtures
import jsonschema
from rally.common.objects import task as task_objects
from rally import plugins
import testtools

plugins.load()  # rally_openstack cannot be imported before

from rally_scenarios.plugins import cloud_guests  # noqa: E402
from rally_scenarios.plugins import fleet_fio  # noqa: E402
from rally_scenarios.plugins import report  # noqa: E402
from tests.unit.rally import fake_cloud  # noqa: E402

OUTPUT_SCHEMA = task_objects.TASK_SCHEMA["definitions"]["output"]
ARGS = {
    "fleets": [{"tier": "database", "image": "db"},
               {"tier": "general", "image": "plain"}],
    "patterns": [
        {"name": "randwrite-4k", "rw": "randwrite", "bs": "4k",
         "iodepth": 16},
        {"name": "write-1m", "rw": "write", "bs": "1m", "iodepth": 4}],
    "flavor": "1", "guests_per_tier": 2, "listen_every_seconds": 0,
}


class FleetFioTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.cloud = fake_cloud.Cloud(
            images={"db": ["image-db"], "plain": ["image-plain"]},
            multiattach_types={"c_rally_start"})
        owner = str(uuid.uuid4())
        self.scenario = fleet_fio.FleetFio(
            context={"owner_id": owner, "task": {"uuid": owner},
                     "cinder_tiers_start_signal": {
                         "volume_type": "c_rally_start"}},
            clients=self.cloud.clients())

    def run_scenario(self, **args):
        self.scenario.run(**{**ARGS, **args})

    def failure(self, **args):
        return str(self.assertRaises(cloud_guests.FleetError,
                                     self.run_scenario, **args))

    def output(self, title):
        return next(found for found in self.scenario._output["complete"]
                    if found["title"] == title)

    def rows(self, title):
        return self.output(title)["data"]["rows"]

    def assert_nothing_is_left(self):
        self.assertEqual({}, self.cloud.servers_by_id)
        self.assertEqual({}, self.cloud.volumes_by_id)

    def test_a_fleet_is_measured_and_leaves_nothing_behind(self):
        self.run_scenario()
        rows = self.rows(report.TIER_TABLE_TITLE)
        self.assertEqual(
            [("database", "randwrite-4k", 2, 999.5, "complete"),
             ("database", "write-1m", 2, 199.9, "complete"),
             ("general", "randwrite-4k", 2, 999.5, "complete"),
             ("general", "write-1m", 2, 199.9, "complete")],
            [(*row[:4], row[-1]) for row in rows])
        self.assertEqual(8, len(self.rows(report.GUEST_TABLE_TITLE)))
        self.assert_nothing_is_left()

    def test_boot_volumes_name_no_type_and_all_names_are_rallys(self):
        self.run_scenario()
        made = self.cloud.everything_made
        boot = [v for v in made if getattr(v, "image", None)]
        self.assertEqual(
            [("image-db", None)] * 2 + [("image-plain", None)] * 2,
            [(volume.image, volume.volume_type) for volume in boot])
        self.assertEqual(
            [["image-db"]] * 2 + [["image-plain"]] * 2,
            [[v.image for v in server.boots_from] for server in made
             if hasattr(server, "boots_from")])
        self.assertEqual([], [each.name for each in made
                              if not each.name.startswith("s_rally_")])

    def test_outputs_fit_the_schema_that_rally_imports_results_with(self):
        self.cloud.guests_do["g003"] = lambda lines: lines[:3]
        self.cloud.guests_stop.add("g003")
        self.failure()
        self.assertEqual(7, len(self.scenario._output["complete"]))
        jsonschema.Draft4Validator(OUTPUT_SCHEMA).validate(
            self.scenario._output)

    def test_so_do_those_of_a_run_in_which_all_is_well(self):
        self.run_scenario()
        self.assertEqual(1, len(self.scenario._output["additive"]))
        jsonschema.Draft4Validator(OUTPUT_SCHEMA).validate(
            self.scenario._output)

    def test_a_guest_whose_server_stopped_is_not_waited_for(self):
        self.cloud.guests_do["g003"] = lambda lines: lines[:5]
        self.cloud.guests_stop.add("g003")
        self.assertIn("g003 (general): lost: last heard of at START",
                      self.failure())
        self.assertEqual(["complete"] * 2 + ["1 of 2 guests"] * 2,
                         [row[-1] for row in
                          self.rows(report.TIER_TABLE_TITLE)])
        self.assert_nothing_is_left()

    def test_a_guest_whose_fio_died_fails_the_run_and_not_the_others(self):
        def fio_dies(lines):
            run = lines[0].split()[2]
            return [line for line in lines if "END slot=3" not in line
                    and " data 3 " not in line] + [
                fake_cloud.console_text.event(
                    91, "FIO-FAILED slot=3 rc=1 : no space left",
                    guest="g002", run=run)]
        self.cloud.guests_do["g002"] = fio_dies
        self.assertEqual(
            "1 of 4 guests are not complete: g002 (general): fio failed: fio"
            " ended with 1 on write-1m: no space left", self.failure())
        self.assertEqual(
            ["complete", "complete", "complete", "1 of 2 guests"],
            [row[-1] for row in self.rows(report.TIER_TABLE_TITLE)])
        self.assertEqual(
            [("g002", "write-1m", "fio failed")],
            [(row[0], row[2], row[-2])
             for row in self.rows(report.GUEST_TABLE_TITLE)
             if row[-2] != "complete"])
        console = self.output(report.CONSOLE_TITLE)["data"]
        self.assertEqual(
            [], [line for line in console if not line.startswith("g002: ")
                 or " data " in line])
        self.assertIn("FIO-FAILED slot=3 rc=1 : no space left", console[-1])
        self.assertIn("FIO-FAILED slot=3 rc=1 : no space left",
                      self.log.output)
        self.assertEqual([], self.scenario._output["additive"])
        self.assert_nothing_is_left()

    def test_a_result_cut_off_on_the_console_is_named(self):
        self.cloud.guests_do["g001"] = lambda lines: [
            line for line in lines if " data 0 2/" not in line]
        self.assertIn("g001 (database): damaged result: result of"
                      " randwrite-4k: 1 of 6 lines are missing",
                      self.failure())
        self.assert_nothing_is_left()

    def test_a_leader_that_cannot_lead_ends_the_run_at_once(self):
        def no_start_disk(lines):
            run = lines[0].split()[2]
            return [lines[0], fake_cloud.console_text.event(
                2, "FAILED : found no disk", guest="g000", run=run)]
        self.cloud.guests_do["g000"] = no_start_disk
        for name in ("g001", "g002", "g003"):
            self.cloud.guests_do[name] = lambda lines: lines[:3]
        message = self.failure()
        self.assertIn("g000 (database): broken: found no disk", message)
        self.assertIn("g003 (general): lost: last heard of at READY", message)
        self.assertEqual([0] * 4, [row[2] for row
                                   in self.rows(report.TIER_TABLE_TITLE)])
        self.assert_nothing_is_left()

    def test_all_unusable_images_are_named_before_anything_is_made(self):
        self.cloud.images_by_name = {"db": ["a", "b"]}
        message = self.failure()
        self.assertIn("no active image is called 'plain'", message)
        self.assertIn("2 active images are called 'db': a, b", message)
        self.assertEqual([], self.cloud.everything_made)

    def test_a_volume_that_no_backend_takes_is_named_and_all_is_deleted(self):
        self.cloud.failing_images = {"image-plain"}
        self.assertIn("ended in status error: no backend took it",
                      self.failure())
        self.assertEqual(5, len(self.cloud.everything_made))
        self.assert_nothing_is_left()

    def test_without_a_type_for_the_start_volume_nothing_is_made(self):
        del self.scenario.context["cinder_tiers_start_signal"]
        self.assertIn("add the context cinder_tiers_start_signal",
                      self.failure())
        self.assertEqual([], self.cloud.everything_made)

    def test_a_type_that_is_named_is_used_for_the_start_volume(self):
        self.cloud.multiattach_types = {"shared"}
        self.run_scenario(start_volume_type="shared")
        self.assertEqual("shared", self.cloud.everything_made[0].volume_type)
