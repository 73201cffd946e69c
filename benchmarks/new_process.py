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

"""Measures in a process of its own, in which nothing was before."""

import json
import subprocess
import sys


def measure(module, *arguments):
    """What a module that measures once prints as JSON.

    :param module: its name, as `python -m` takes it.
    :param arguments: of its command line.
    """
    return json.loads(subprocess.run(
        [sys.executable, '-m', module, *map(str, arguments)], check=True,
        stdout=subprocess.PIPE, text=True).stdout)
