# SPDX-License-Identifier: Apache-2.0

"""Keeps imports going one way: doc/source/contributor/architecture.rst.

Imports are read with ast and nothing is imported, so the rule also holds for
modules whose third-party needs are absent here, and inside functions and
``if TYPE_CHECKING``. What is installed is the business of ``tox -e pure``.
"""

import ast
import dataclasses
import importlib.util
import pathlib
import sys

import ddt
import testtools

TOP = pathlib.Path(__file__).resolve().parents[2]

# The arrows of the picture in the architecture page. A layer may import
# itself and whatever its arrows reach.
ARROWS = {
    'cinder_tiers.scheduler': {'cinder_tiers.doors'},
    'cinder_tiers.api': {'cinder_tiers.doors'},
    'cinder_tiers.status': {
        'cinder_tiers.doors',
        # What it says of a missing fallback is what validate says.
        'cinder_tiers.domain.validation',
    },
    # Of the domain no more than placement: neither plan nor its resources.
    'cinder_tiers.doors': {
        'cinder_tiers.domain.placement',
        'cinder_tiers.conf',
    },
    # Tests of Tempest, which nobody but Tempest imports.
    'cinder_tiers.tempest': {'cinder_tiers.domain.placement'},
    'cinder_tiers.cli': {
        'cinder_tiers.cli.render',
        'cinder_tiers.workflow',
        'cinder_tiers.sweeps',
        'cinder_tiers.files',
        'cinder_tiers.observe',
        # A command that measures is run for each slot of a sweep.
        'cinder_tiers.execute',
        # The options of the doors, read from a file that the user names.
        'cinder_tiers.conf',
    },
    'cinder_tiers.cli.render': {
        'cinder_tiers.domain.audit',
        'cinder_tiers.domain.export',
        'cinder_tiers.domain.sweep',
    },
    'cinder_tiers.workflow': {
        'cinder_tiers.files',
        'cinder_tiers.observe',
        'cinder_tiers.execute',
    },
    # The use cases of sweeps, beside those of tiers.
    'cinder_tiers.sweeps': {'cinder_tiers.workflow'},
    'cinder_tiers.files': {
        'cinder_tiers.domain.export',
        'cinder_tiers.domain.sweep',
    },
    'cinder_tiers.clients': {'cinder_tiers.domain.catalog'},
    'cinder_tiers.observe': {
        'cinder_tiers.domain.audit',
        'cinder_tiers.domain.export',
        'cinder_tiers.domain.fault',
        'cinder_tiers.clients',
    },
    'cinder_tiers.execute': {
        'cinder_tiers.domain.plan',
        'cinder_tiers.domain.sweep',
        'cinder_tiers.clients',
    },
    'cinder_tiers.conf': {'cinder_tiers.domain.placement'},
    # The floors of the domain, from the top; errors, text and tags are the
    # modules of the package itself.
    'cinder_tiers.domain.export': {
        'cinder_tiers.domain.explain',
        'cinder_tiers.domain.plan',
    },
    'cinder_tiers.domain.audit': {
        'cinder_tiers.domain.explain',
        'cinder_tiers.domain.plan',
    },
    'cinder_tiers.domain.sweep': {
        'cinder_tiers.domain.plan',
        'cinder_tiers.domain.fault',
    },
    'cinder_tiers.domain.fault': {'cinder_tiers.domain.state'},
    'cinder_tiers.domain.plan': {'cinder_tiers.domain.validation'},
    'cinder_tiers.domain.validation': {
        'cinder_tiers.domain.placement',
        'cinder_tiers.domain.resources',
    },
    'cinder_tiers.domain.explain': {
        'cinder_tiers.domain.placement',
        'cinder_tiers.domain.resources',
    },
    'cinder_tiers.domain.resources': {
        'cinder_tiers.domain.catalog',
        'cinder_tiers.domain.state',
    },
    'cinder_tiers.domain.placement': {
        'cinder_tiers.domain.catalog',
        'cinder_tiers.domain.state',
    },
    'cinder_tiers.domain.state': {'cinder_tiers.domain'},
    'cinder_tiers.domain.catalog': {'cinder_tiers.domain'},
    'cinder_tiers.domain': set(),
    'rally_scenarios.plugins': {
        'rally_scenarios.guest',
        'rally_scenarios.bench',
        # What "rally task export" writes.
        'rally_scenarios.report',
        # What a run was measured on: read only.
        'cinder_tiers.observe',
        # Results that a task names, read with a bound.
        'cinder_tiers.files',
    },
    'rally_scenarios.cli': {
        'rally_scenarios.bench',
        'rally_scenarios.report',
        'rally_scenarios.tune',
        'rally_scenarios.watch',
        # The shell, the exit statuses and the cells of all tier commands.
        'cinder_tiers.cli',
    },
    # The search of a tuning: what is measured it does not know.
    'rally_scenarios.tune': {'rally_scenarios.bench'},
    # The use cases of the watch: it measures, and judges by bench.
    'rally_scenarios.watch': {
        'rally_scenarios.bench',
        'cinder_tiers.files',
        'cinder_tiers.observe',
        'cinder_tiers.clients',
    },
    'rally_scenarios.report': {'rally_scenarios.report.content'},
    # What a report shows, as values: it draws nothing.
    'rally_scenarios.report.content': {'rally_scenarios.bench'},
    'rally_scenarios.guest': {'rally_scenarios.bench'},
    'rally_scenarios.bench': {'cinder_tiers.domain.catalog'},
    # The packages themselves: empty __init__ files.
    'cinder_tiers': set(),
    'rally_scenarios': set(),
}

# First components of third-party modules, per layer; '*' at the end of a name
# stands for any ending. None means: whatever its extra (setup.cfg) installs,
# but never a service.
THIRD_PARTY = {
    'cinder_tiers.scheduler': {'cinder', 'oslo_*'},
    'cinder_tiers.api': {'cinder', 'oslo_*', 'webob'},
    # The errors of Cinder's database that oslo.db passes on as they are.
    'cinder_tiers.status': {'cinder', 'oslo_*', 'sqlalchemy'},
    'cinder_tiers.doors': {
        'cinder',
        'oslo_*',
        'cachetools',
        'prometheus_client',
    },
    'cinder_tiers.conf': {'oslo_*'},
    **{
        layer: set()
        for layer in ARROWS
        if layer.startswith('cinder_tiers.domain')
    },
    # Statistics are better kept there than here.
    'rally_scenarios.bench': {'numpy', 'scipy'},
    'rally_scenarios.report': {
        'altair',
        'jinja2',
        'markupsafe',
        'vl_convert',
    },
    'rally_scenarios.report.content': set(),
    'rally_scenarios.tune': {'optuna'},
    'cinder_tiers': set(),
    'rally_scenarios': set(),
}
SERVICES = {'cinder', 'glance', 'keystone', 'neutron', 'nova', 'placement'}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Import:
    """One imported module, by its absolute dotted name."""

    name: str
    line: int


def layer_of(module):
    """The layer that a dotted module name belongs to; None: to none."""
    parts = module.split('.')
    if parts[0] not in ('cinder_tiers', 'rally_scenarios'):
        return None
    if len(parts) == 1:
        return parts[0]
    for length in range(len(parts), 1, -1):
        layer = '.'.join(parts[:length])
        if layer in ARROWS:
            return layer
    return None


def reach(layer):
    """All layers that a layer may import, itself among them."""
    found, todo = set(), [layer]
    while todo:
        current = todo.pop()
        if current not in found:
            found.add(current)
            todo.extend(ARROWS[current])
    return found


def imports(module, source, is_package):
    """All imports of a source text, in any scope.

    :param module: dotted name of the module
    :param source: its text
    :param is_package: whether it is an ``__init__``
    :returns: list of Import
    """
    package = module if is_package else module.rpartition('.')[0]
    found = []
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ''
            if node.level:
                base = importlib.util.resolve_name(
                    '.' * node.level + base, package
                )
            names = [f'{base}.{alias.name}' for alias in node.names]
        elif isinstance(node, ast.Call) and node.args:
            called = ast.unparse(node.func).rpartition('.')[2]
            argument = node.args[0]
            if called in ('import_module', '__import__') and isinstance(
                argument, ast.Constant
            ):
                names = [argument.value]
        found += [Import(name=name, line=node.lineno) for name in names]
    return found


def allowed(layer, name):
    """Whether a layer may import a module of this name."""
    root = name.split('.')[0]
    if root in sys.stdlib_module_names:
        return True
    if root in ('cinder_tiers', 'rally_scenarios'):
        return layer_of(name) in reach(layer)
    if root in ('tests', 'devstack'):
        return False
    permitted = THIRD_PARTY.get(layer)
    if permitted is None:
        return root not in SERVICES
    return any(
        root == name or (name.endswith('*') and root.startswith(name[:-1]))
        for name in permitted
    )


def violations(module, source, is_package=False):
    """Every import that breaks the rule, as a sentence for a reader."""
    layer = module if module in ARROWS else layer_of(module)
    if layer is None:
        return [
            f'{module} is in no layer of the architecture: '
            f'{", ".join(sorted(ARROWS))}'
        ]
    return [
        f'{module}, line {found.line}: imports {found.name}; {layer} may '
        f'import {", ".join(sorted(reach(layer)))} and '
        f'{third_party_text(layer)}'
        for found in imports(module, source, is_package)
        if not allowed(layer, found.name)
    ]


def third_party_text(layer):
    permitted = THIRD_PARTY.get(layer)
    if permitted is None:
        return 'anything that is not a service'
    return ', '.join(['the standard library', *sorted(permitted)])


class TreeTestCase(testtools.TestCase):
    def test_every_import_follows_the_arrows(self):
        found = []
        modules = 0
        for package in ('cinder_tiers', 'rally_scenarios'):
            for path in sorted((TOP / package).rglob('*.py')):
                parts = list(path.relative_to(TOP).with_suffix('').parts)
                is_package = parts[-1] == '__init__'
                if is_package:
                    parts.pop()
                modules += 1
                found += violations(
                    '.'.join(parts), path.read_text('utf-8'), is_package
                )
        self.assertGreater(modules, len(ARROWS) // 2)
        self.assertEqual([], found)

    def test_the_picture_has_no_circle(self):
        for layer, targets in ARROWS.items():
            for target in targets:
                self.assertNotIn(layer, reach(target))


@ddt.ddt
class CheckerTestCase(testtools.TestCase):
    @ddt.data(
        ('cinder_tiers.domain.state.x', 'from ..resources import crush'),
        (
            'cinder_tiers.domain.placement.decide',
            'from cinder_tiers.domain.resources import pool',
        ),
        (
            'cinder_tiers.doors.door',
            'from cinder_tiers.domain.plan import plan',
        ),
        ('cinder_tiers.domain.plan', 'def f():\n    import yaml'),
        ('cinder_tiers.domain.plan', 'importlib.import_module("yaml")'),
        ('cinder_tiers.domain.plan', 'from ..observe import ceph'),
        ('cinder_tiers.scheduler.filter', 'import openstack'),
        ('cinder_tiers.cli.plan', 'from tests.unit import anything'),
        ('rally_scenarios.plugins.fleet', 'from cinder import context'),
        ('cinder_tiers.utils', ''),
    )
    @ddt.unpack
    def test_a_forbidden_import_is_found(self, module, source):
        found = violations(module, source)
        self.assertEqual(1, len(found), found)
        self.assertIn(module, found[0])
