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

"""Task files as Rally reads them: rendered, parsed, checked for syntax."""

import copy
import pathlib

import ddt
from rally import api
from rally import exceptions
from rally import plugins
from rally.task import engine
from rally.task import task_cfg
import testtools
import yaml

plugins.load()
# Where the package is not installed, its entry point is not there.
import rally_scenarios.plugins.fleet_fio  # noqa: E402,F401

QUICK = (pathlib.Path(__file__).parents[3] / "rally_scenarios" / "tasks"
         / "quick.yaml")


def render(**args):
    # _Task needs its API object only to talk to a database.
    return yaml.safe_load(api._Task(None).render_template(
        QUICK.read_text(), template_dir=str(QUICK.parent), **args))


def check(config):
    """Rally's own check of a task file that needs no cloud."""
    config = task_cfg.TaskConfig(copy.deepcopy(config))
    task_engine = engine.TaskEngine(config, task=None, env=None)
    for subtask in config.subtasks:
        for workload in subtask["workloads"]:
            task_engine._validate_workload(workload, vtype="syntax")


def workload(config):
    found, = config["subtasks"][0]["workloads"]
    return found


@ddt.ddt
class QuickTest(testtools.TestCase):

    def test_it_starts_unchanged(self):
        config = render()
        check(config)
        args = workload(config)["scenario"]["CinderTiers.fleet_fio"]
        self.assertEqual(["database", "general", "archive"],
                         [fleet["tier"] for fleet in args["fleets"]])
        self.assertEqual(3, args["guests_per_tier"])
        self.assertEqual({"extra_specs": {}}, workload(config)["contexts"][
            "cinder_tiers_start_signal"])

    def test_arguments_override_the_defaults(self):
        config = render(guests_per_tier=5, flavor="m1.small", ramp_seconds=0,
                        start_volume_type="shared")
        check(config)
        args = workload(config)["scenario"]["CinderTiers.fleet_fio"]
        self.assertEqual(
            (5, {"name": "m1.small"}, 0, "shared"),
            (args["guests_per_tier"], args["flavor"], args["ramp_seconds"],
             args["start_volume_type"]))
        self.assertNotIn("cinder_tiers_start_signal",
                         workload(config)["contexts"])

    def test_the_start_volume_can_be_sent_to_a_backend(self):
        config = render(start_volume_backend="tier-database")
        check(config)
        self.assertEqual(
            {"volume_backend_name": "tier-database"},
            workload(config)["contexts"]["cinder_tiers_start_signal"][
                "extra_specs"])

    @ddt.data(
        ("a misspelt argument", {"guest_per_tier": 3}),
        ("no guests", {"guests_per_tier": 0}),
        ("words for a number", {"runtime_seconds": "ten"}),
        ("a misspelt key of a fleet", {"fleets": [
            {"tier": "a", "image": "b", "imgae": "c"}]}),
        ("a fleet without an image", {"fleets": [{"tier": "a"}]}),
        ("a pattern that fio does not know", {"patterns": [
            {"name": "x", "rw": "trim", "bs": "4k", "iodepth": 1}]}),
        ("an unknown timeout", {"timeouts_seconds": {"boots": 3}}))
    @ddt.unpack
    def test_rally_refuses(self, _what, wrong):
        config = render()
        workload(config)["scenario"]["CinderTiers.fleet_fio"].update(wrong)
        self.assertRaises(exceptions.InvalidTaskConfig, check, config)

    def test_rally_refuses_a_misspelt_option_of_the_context(self):
        config = render()
        workload(config)["contexts"]["cinder_tiers_start_signal"] = {
            "extra_spec": {}}
        self.assertRaises(exceptions.InvalidTaskConfig, check, config)
