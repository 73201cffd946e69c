# SPDX-License-Identifier: Apache-2.0

"""The hooks by which OSC finds the `openstack tier` commands.

The interface is python-openstackclient doc/source/contributor/plugins.rst.
There is no service to call: commands use OSC's openstacksdk connection.
"""

API_NAME = 'tier'
API_VERSION_OPTION = 'os_tier_api_version'
DEFAULT_API_VERSION = '1'
API_VERSIONS = ('1',)


def make_client(instance: object) -> None:
    """OSC asks each plugin for a client; this one has none."""


def build_option_parser(parser: object) -> object:
    """Adds no global option.

    :returns: the parser.
    """
    return parser
