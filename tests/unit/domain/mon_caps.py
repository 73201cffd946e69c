# SPDX-License-Identifier: Apache-2.0

"""What capabilities of a monitor allow, as src/mon/MonCap.cc decides it.

Written from there and not from the product, which writes such capabilities.
It knows the forms `allow PERMISSIONS` and `allow command`; profiles are none
of those that plan or apply may use.
"""

import re

_GRANT = re.compile(r"""(?:"[^"]*"|'[^']*'|[^,;"'])+""")
_PERMISSIONS = re.compile(r'allow ([rwx]+|\*)')
_COMMAND = re.compile(
    r"""allow\ command[ =] "(?P<prefix>[^"]*)"
        (?:\ with\ (?P<name>\w+)(?P<how>=|\ prefix\ )(?P<value>.*))?""",
    re.VERBOSE,
)


class NotUnderstoodError(Exception):
    """Ceph, or this, cannot read a capability."""


def allows(text, prefix, permission, arguments):
    """Whether a user with these capabilities may send a command.

    :param text: capabilities of the monitors.
    :param permission: that the command takes, such as rw.
    :param arguments: {name: text} of the command.
    """
    held = set()
    for grant in (one.strip() for one in _GRANT.findall(text)):
        if plain := _PERMISSIONS.fullmatch(grant):
            held |= set('rwx' if plain[1] == '*' else plain[1])
            continue
        named = _COMMAND.fullmatch(grant)
        if named is None:
            raise NotUnderstoodError(grant)
        if named['prefix'] == prefix and _fits(named, arguments):
            return True
    return set(permission) <= held


def _fits(named, arguments):
    if named['name'] is None:
        return True
    value = named['value'].strip('"')
    given = arguments.get(named['name'])
    if given is None:
        return False
    return given == value if named['how'] == '=' else given.startswith(value)
