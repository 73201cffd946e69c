# SPDX-License-Identifier: Apache-2.0

"""The commands of ``openstack tier``, each with what its help begins with.

::

    .. tiers-commands::
       plan: :ref:`effects`
       watch: :doc:`/admin/watch`

lists all commands. A line of its content names where more is about one.
"""

import importlib.metadata

from docutils import nodes
from sphinx import application
from sphinx.util import docutils

_GROUP = 'openstack.tier.v1'
_PREFIX = 'tier_'


def _summaries() -> dict[str, str]:
    """First sentences of the descriptions, by command."""
    found = {}
    for entry in importlib.metadata.entry_points(group=_GROUP):
        command = entry.load()(None, None)
        text = ' '.join(command.get_description().split())
        found[entry.name.removeprefix(_PREFIX)] = text.partition('. ')[0]
    return dict(sorted(found.items()))


class TiersCommands(docutils.SphinxDirective):
    """A list of all commands."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the list.

        :raises docutils.parsers.rst.DirectiveError: a line names no command.
        """
        summaries = _summaries()
        more = {}
        for line in self.content:
            name, _, places = line.partition(':')
            if name not in summaries:
                raise self.error(f'{name} is not a command of {_GROUP}')
            more[name] = places.strip()
        commands = nodes.definition_list()
        for name, summary in summaries.items():
            said = nodes.paragraph('', f'{summary.rstrip(".")}.')
            if name in more:
                said += nodes.Text(' See ')
                said += self.parse_text_to_nodes(more[name])[0].children
                said += nodes.Text('.')
            commands += nodes.definition_list_item(
                '',
                nodes.term('', '', nodes.literal('', name)),
                nodes.definition('', said),
            )
        return [commands]


def setup(app: application.Sphinx) -> dict[str, object]:
    """Adds the directive; Sphinx calls it.

    :returns: what Sphinx may assume of the extension.
    """
    app.add_directive('tiers-commands', TiersCommands)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
