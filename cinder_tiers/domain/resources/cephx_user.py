# SPDX-License-Identifier: Apache-2.0

"""Capabilities of a cephx user as Ceph writes them.

Grammar: ceph doc/rados/operations/user-management.rst, "Authorization
(Capabilities)". Grants are only ever added, since others may rely on those
that are there. Must not know whom they are for.
"""

import collections.abc
import re

# A grant ends at a comma or semicolon that is not inside quotes.
_GRANT = re.compile(r"""(?:"[^"]*"|'[^']*'|[^,;"'])+""")


def parse(text: str) -> tuple[str, ...]:
    """Grants of one daemon type, white space normalised.

    >>> parse('profile rbd pool=a,  profile  rbd pool=b')
    ('profile rbd pool=a', 'profile rbd pool=b')
    """
    grants = (' '.join(part.split()) for part in _GRANT.findall(text))
    return tuple(grant for grant in grants if grant)


def covers(held: str, wanted: str) -> bool:
    """Whether one grant already allows what another would.

    Knows what RBD needs, and answers no when unsure: then the grant is
    added, which is harmless.

    >>> covers('profile rbd pool=images', 'profile rbd-read-only pool=images')
    True
    """
    if held in (wanted, 'allow *'):
        return True
    stronger = wanted.replace('profile rbd-read-only', 'profile rbd')
    return held in (
        stronger,
        re.sub(' pool=.*', '', wanted),
        re.sub(' pool=.*', '', stronger),
    )


def union(
    held: collections.abc.Mapping[str, str],
    wanted: collections.abc.Mapping[str, tuple[str, ...]],
) -> dict[str, str]:
    """Capabilities that hold all that were held and all that are wanted.

    :param held: {daemon type: text}.
    :param wanted: {daemon type: grants}.
    :returns: {daemon type: text}; the very text that was held where nothing
        is missing, so that order and spacing are no difference.
    """
    result = dict(held)
    for daemon, grants in wanted.items():
        have = parse(held.get(daemon, ''))
        missing = tuple(
            grant
            for grant in grants
            if not any(covers(one, grant) for one in have)
        )
        if missing:
            result[daemon] = ', '.join(dict.fromkeys(have + missing))
    return result


def beyond(
    held: collections.abc.Mapping[str, str],
    others: collections.abc.Mapping[str, str],
) -> tuple[str, ...]:
    """Grants that are held and that other capabilities do not have.

    >>> beyond({'mon': 'allow r', 'mds': 'allow r'}, {'mon': 'allow r'})
    ('mds allow r',)

    :param held: {daemon type: text}.
    :param others: {daemon type: text}.
    :returns: each with its daemon type.
    """
    return tuple(
        f'{daemon} {grant}'
        for daemon, text in sorted(held.items())
        for grant in parse(text)
        if not any(covers(one, grant) for one in parse(others.get(daemon, '')))
    )
