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

"""The hooks by which OSC finds the `openstack tier` commands.

The interface is python-openstackclient doc/source/contributor/plugins.rst.
There is no service of our own: commands use OSC's openstacksdk connection.
"""

API_NAME = 'tier'
API_VERSION_OPTION = 'os_tier_api_version'
DEFAULT_API_VERSION = '1'
API_VERSIONS = ('1',)

#: The program that has the commands without OSC.
PROGRAM = 'cinder-tiers'


def make_client(instance: object) -> None:
    """OSC asks each plugin for a client; this one has none."""


def build_option_parser(parser: object) -> object:
    """Adds no global option.

    :returns: the parser.
    """
    return parser
