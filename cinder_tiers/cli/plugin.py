# SPDX-License-Identifier: Apache-2.0

"""Hooks through which OSC finds the `openstack tier` commands.

OSC's doc/source/contributor/plugins.rst defines them. The commands call no
service of their own; they use OSC's openstacksdk connection.
"""

API_NAME = 'tier'
API_VERSION_OPTION = 'os_tier_api_version'
DEFAULT_API_VERSION = '1'
API_VERSIONS = ('1',)


def make_client(instance: object) -> None:
    """Return no client, though OSC asks each plugin for one."""


def build_option_parser(parser: object) -> object:
    """Return the parser without a new global option."""
    return parser
