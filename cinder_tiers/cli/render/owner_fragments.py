# SPDX-License-Identifier: Apache-2.0

"""Configuration fragments for other tools, in the syntax of their files."""

import collections.abc
import textwrap
import types

import yaml

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.plan import backend_config
from cinder_tiers.domain.plan import owner_fragments
from cinder_tiers.domain import text as escaping

_COLUMNS = 79
_OWNERS: collections.abc.Mapping[
    str,
    collections.abc.Callable[
        [catalogs.Catalog], tuple[owner_fragments.Fragment, ...]
    ],
] = types.MappingProxyType(
    {
        'rook': owner_fragments.rook,
        'cephadm': owner_fragments.cephadm,
        'kolla-ansible': owner_fragments.kolla_ansible,
        'openstack-ansible': owner_fragments.openstack_ansible,
    }
)
#: Values of `--for` for other tools.
TARGETS = tuple(_OWNERS)


def values(catalog: catalogs.Catalog, target: str) -> list[dict[str, object]]:
    """Return the fragments for programs.

    :param target: one of `TARGETS`.
    """
    return [
        {
            'place': one.place,
            'documents': list(one.documents),
            'notes': list(one.notes),
        }
        for one in _OWNERS[target](catalog)
    ]


def text(catalog: catalogs.Catalog, target: str) -> str:
    """Return the fragments as text; all but their content is in comments.

    :param target: one of `TARGETS`.
    """
    found = _OWNERS[target](catalog)
    if not any(one.documents for one in found):
        return '# No tier has rbd, so nothing is needed.\n'
    return '\n'.join(_fragment(one) for one in found if one.documents)


def _fragment(fragment: owner_fragments.Fragment) -> str:
    comments = ''.join(
        textwrap.fill(
            escaping.printable(line),
            width=_COLUMNS,
            initial_indent='# ',
            subsequent_indent='#   ',
            break_long_words=False,
            break_on_hyphens=False,
        )
        + '\n'
        for line in (f'{fragment.place}:', *fragment.notes)
    )
    if isinstance(fragment, owner_fragments.IniFragment):
        return comments + ''.join(
            backend_config.cinder_conf(one) for one in fragment.documents
        )
    return comments + yaml.safe_dump_all(
        fragment.documents,
        explicit_start=True,
        sort_keys=False,
        default_flow_style=False,
        allow_unicode=True,
    )
