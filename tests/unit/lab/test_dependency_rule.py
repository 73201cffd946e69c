# SPDX-License-Identifier: Apache-2.0

"""Keeps the imports of the lab going one way, and within its means.

lab.sh runs the lab with the interpreter of Debian, before anything is
installed: only what runs in the lab's own environment, or inside a function,
may import more than the standard library.
"""

import ast
import pathlib
import sys

import ddt
import testtools

from tests.unit import test_dependency_rule as rule

DEVSTACK = pathlib.Path(__file__).resolve().parents[3] / 'devstack'

# What a package of the lab may import, besides itself. All other modules at
# the top are commands of lab.sh, and may import everything.
ARROWS = {
    'lab.private_file': set(),
    'lab.stages': set(),
    'lab.layout': {'lab.private_file'},
    'lab.host': {'lab.layout'},
    'lab.processes': {'lab.layout', 'lab.private_file'},
    'lab.guests': {'lab.host'},
    'lab.infrastructure': {
        'lab.host',
        'lab.layout',
        'lab.private_file',
        'lab.processes',
    },
    'lab.ceph': {
        'lab.host',
        'lab.layout',
        'lab.private_file',
        'lab.processes',
    },
    'lab.openstack': {
        'lab.host',
        'lab.layout',
        'lab.private_file',
        'lab.processes',
    },
}
# Run in the lab's Python environment, by its own interpreter, or by a service.
IN_THE_ENVIRONMENT = (
    'lab.demo',
    'lab.openstack.cloud',
    'lab.openstack.macvlan',
    'lab.openstack.macvtap_agent',
)
# Debian's bindings, installed by the lab: module -> where it is imported,
# which must be inside a function.
BINDINGS = {
    'libvirt': 'lab.infrastructure.libvirtd',
    'rados': 'lab.ceph.monitor_client',
    'rbd': 'lab.ceph.monitor_client',
}


def layer_of(module):
    """The package of the lab that a module belongs to; lab: a command."""
    layer = '.'.join(module.split('.')[:2])
    return layer if layer in ARROWS else 'lab'


def reach(layer):
    """All packages that a package may import, itself among them."""
    found, todo = set(), [layer]
    while todo:
        current = todo.pop()
        if current not in found:
            found.add(current)
            todo.extend(ARROWS[current])
    return found


def allowed(module, name):
    """Whether a module of the lab may import another one, of any project."""
    root = name.split('.')[0]
    layer = layer_of(module)
    if root == 'lab':
        return layer == 'lab' or layer_of(name) in reach(layer)
    return (
        root in sys.stdlib_module_names
        or module in IN_THE_ENVIRONMENT
        or BINDINGS.get(root) == module
    )


def violations(module, source, is_package=False):
    """Every import that breaks the rule, as a sentence for a reader."""
    return [
        f'{module}, line {found.line}: imports {found.name}'
        for found in rule.imports(module, source, is_package)
        if not allowed(module, found.name)
    ]


def modules():
    """(dotted name, text, whether it is a package) of all of the lab."""
    for path in sorted((DEVSTACK / 'lab').rglob('*.py')):
        parts = list(path.relative_to(DEVSTACK).with_suffix('').parts)
        is_package = parts[-1] == '__init__'
        if is_package:
            parts.pop()
        yield '.'.join(parts), path.read_text('utf-8'), is_package


class TreeTest(testtools.TestCase):
    def test_every_import_follows_the_arrows(self):
        found = []
        for module, source, is_package in modules():
            found += violations(module, source, is_package)
        self.assertEqual([], found)

    def test_the_arrows_have_no_circle(self):
        for layer, targets in ARROWS.items():
            for target in targets:
                self.assertNotIn(layer, reach(target))

    def test_every_package_has_its_arrows(self):
        found = {
            f'lab.{path.parent.name}'
            for path in (DEVSTACK / 'lab').glob('*/__init__.py')
        }
        self.assertLessEqual(found, set(ARROWS))
        found |= {
            f'lab.{path.stem}' for path in (DEVSTACK / 'lab').glob('*.py')
        }
        self.assertLessEqual(set(ARROWS), found)

    def test_bindings_are_imported_inside_functions(self):
        for module, source, _ in modules():
            names = {
                alias.name
                for node in ast.parse(source).body
                if isinstance(node, ast.Import)
                for alias in node.names
            }
            self.assertEqual(set(), names & set(BINDINGS), module)

    def test_what_runs_elsewhere_is_imported_by_nothing_that_runs_here(self):
        for module, source, is_package in modules():
            if module in IN_THE_ENVIRONMENT:
                continue
            names = {
                found.name
                for found in rule.imports(module, source, is_package)
            }
            self.assertEqual(set(), names & set(IN_THE_ENVIRONMENT), module)


@ddt.ddt
class CheckerTest(testtools.TestCase):
    @ddt.data(
        ('lab.ceph.cluster', 'from lab.openstack import services'),
        ('lab.ceph.cluster', 'from lab import stages'),
        ('lab.ceph.cluster', 'from lab import up'),
        ('lab.ceph.cluster', 'def f():\n    import rados'),
        ('lab.guests.disk', 'from lab.ceph import topology'),
        ('lab.host.packages', 'from lab.processes import supervisord'),
        ('lab.layout', 'from lab.host import commands'),
        ('lab.openstack.services', 'import yaml'),
        ('lab.up', 'import openstack'),
    )
    @ddt.unpack
    def test_a_forbidden_import_is_found(self, module, source):
        self.assertEqual(1, len(violations(module, source)))

    @ddt.data(
        ('lab.ceph.cluster', 'from lab.host import commands'),
        ('lab.ceph.monitor_client', 'import rados'),
        ('lab.demo', 'import prettytable'),
        ('lab.guests.disk', 'from lab import layout'),
        ('lab.up', 'from lab.ceph import clusters'),
        ('lab.up', 'from lab import down'),
    )
    @ddt.unpack
    def test_an_import_along_an_arrow_passes(self, module, source):
        self.assertEqual([], violations(module, source))
