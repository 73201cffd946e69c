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
import tomllib

import ddt
import testtools

TOP = pathlib.Path(__file__).resolve().parents[2]

# The arrows of the picture in the architecture page. A layer may import
# itself and whatever its arrows reach.
ARROWS = {
    'cinder_tiers.scheduler': {'cinder_tiers.doors'},
    'cinder_tiers.api': {'cinder_tiers.doors'},
    # In cinder-volume; nothing of the tiers but names of pools, and the rules
    # for limits by size.
    'cinder_tiers.driver': {
        'cinder_tiers.domain',
        'cinder_tiers.domain.resources',
    },
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
    # In Horizon's processes: reads, and writes nothing but tags of images.
    'cinder_tiers.horizon': {'cinder_tiers.observe'},
    # Tests of Tempest, which nobody but Tempest imports.
    'cinder_tiers.tempest': {'cinder_tiers.domain.placement'},
    'cinder_tiers.cli': {
        'cinder_tiers.cli.render',
        'cinder_tiers.workflow',
        'cinder_tiers.files',
        'cinder_tiers.observe',
        # Of commands that read results: the file, and the tiers that it has.
        'cinder_tiers.figures',
        # The options of the doors, read from a file that the user names.
        'cinder_tiers.conf',
    },
    'cinder_tiers.cli.render': {
        'cinder_tiers.domain.audit',
        'cinder_tiers.domain.export',
    },
    'cinder_tiers.workflow': {
        'cinder_tiers.files',
        'cinder_tiers.observe',
        'cinder_tiers.execute',
    },
    'cinder_tiers.files': {'cinder_tiers.domain.export'},
    'cinder_tiers.clients': {'cinder_tiers.domain.catalog'},
    'cinder_tiers.observe': {
        'cinder_tiers.domain.audit',
        'cinder_tiers.domain.export',
        'cinder_tiers.clients',
    },
    'cinder_tiers.execute': {
        'cinder_tiers.domain.plan',
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
    'cinder_tiers.domain.plan': {'cinder_tiers.domain.validation'},
    'cinder_tiers.domain.validation': {
        'cinder_tiers.domain.placement',
        'cinder_tiers.domain.resources',
    },
    'cinder_tiers.domain.explain': {
        'cinder_tiers.domain.placement',
        'cinder_tiers.domain.resources',
    },
    # What volume types say of tiers in words.
    'cinder_tiers.domain.card': {
        'cinder_tiers.domain.catalog',
        'cinder_tiers.domain.state',
    },
    'cinder_tiers.domain.resources': {
        'cinder_tiers.domain.card',
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
    # What fio, guests and Ceph measured, as values.
    'cinder_tiers.figures': {'cinder_tiers.domain.catalog'},
    # A room for each question that measurements answer; which of its files
    # are pure is in pyproject.toml.
    'cinder_tiers.loop': {
        'cinder_tiers.cli',
        'cinder_tiers.figures',
        'cinder_tiers.workflow',
    },
    'rally_scenarios.plugins': {
        'rally_scenarios.guest',
        'cinder_tiers.figures',
        # What an SLA compares, and what "rally task export" writes.
        'cinder_tiers.loop',
    },
    'rally_scenarios.guest': {'cinder_tiers.figures'},
    # The packages themselves: empty __init__ files.
    'cinder_tiers': set(),
    'rally_scenarios': set(),
}

# First components of third-party modules, per layer; '*' at the end of a name
# stands for any ending. None means: whatever its extra installs,
# but never a service.
THIRD_PARTY = {
    'cinder_tiers.scheduler': {'cinder', 'oslo_*'},
    'cinder_tiers.api': {'cinder', 'oslo_*', 'webob'},
    'cinder_tiers.driver': {'cinder', 'oslo_*'},
    # The errors of Cinder's database that oslo.db passes on as they are.
    'cinder_tiers.status': {'cinder', 'oslo_*', 'sqlalchemy'},
    'cinder_tiers.doors': {
        'cinder',
        'oslo_*',
        'cachetools',
        'prometheus_client',
    },
    'cinder_tiers.conf': {'oslo_*'},
    'cinder_tiers.horizon': {
        'django',
        'horizon',
        'keystoneauth1',
        'openstack',
        'openstack_*',
    },
    **{
        layer: set()
        for layer in ARROWS
        if layer.startswith('cinder_tiers.domain')
    },
    # Statistics are better kept there than here.
    'cinder_tiers.figures': {'numpy', 'scipy'},
    'cinder_tiers': set(),
    'rally_scenarios': set(),
}
#: What a layer does not import although its arrows reach it.
NEVER = {
    # A task measures: it writes to no tier.
    'rally_scenarios.plugins': (
        'cinder_tiers.cli.',
        'cinder_tiers.execute.',
        'cinder_tiers.workflow.',
    )
}
#: Modules of the standard library that reach beyond the process, or wait.
IO = {
    'concurrent',
    'fcntl',
    'http',
    'multiprocessing',
    'os',
    'select',
    'shutil',
    'signal',
    'socket',
    'subprocess',
    'tempfile',
    'threading',
    'time',
    'urllib',
}
SERVICES = {'cinder', 'glance', 'keystone', 'neutron', 'nova', 'placement'}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Import:
    """One imported module, by its absolute dotted name."""

    name: str
    line: int


def pure_files():
    """The files that decide or compute, and do no I/O.

    :returns: {dotted name of the module: path}
    """
    with open(TOP / 'pyproject.toml', 'rb') as text:
        globs = tomllib.load(text)['tool']['cinder-tiers']['pure']
    return {
        '.'.join(path.relative_to(TOP).with_suffix('').parts): path
        for glob in globs
        for path in sorted(TOP.glob(glob))
    }


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
        return layer_of(name) in reach(layer) and not f'{name}.'.startswith(
            NEVER.get(layer, ())
        )
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

    def test_what_is_pure_imports_nothing_else(self):
        files = pure_files()
        packages = {name.rpartition('.')[0] for name in files}
        found = []
        for module, path in files.items():
            for one in imports(module, path.read_text('utf-8'), False):
                root = one.name.split('.')[0]
                is_ours = root in ('cinder_tiers', 'rally_scenarios')
                if (
                    not {one.name, one.name.rpartition('.')[0]} & files.keys()
                    if is_ours and one.name not in packages
                    else root in IO
                    or root not in {*sys.stdlib_module_names, 'numpy', 'scipy'}
                    and not is_ours
                ):
                    found.append(f'{module}, line {one.line}: {one.name}')
        self.assertEqual([], found)

    def test_each_glob_of_pure_files_fits_a_file(self):
        with open(TOP / 'pyproject.toml', 'rb') as text:
            globs = tomllib.load(text)['tool']['cinder-tiers']['pure']
        self.assertEqual([], [one for one in globs if not list(TOP.glob(one))])

    def test_rooms_of_the_loop_know_each_other_one_way(self):
        knows = {}
        loop = TOP / 'cinder_tiers' / 'loop'
        for path in sorted(loop.glob('*/*.py')):
            for one in imports('x', path.read_text('utf-8'), False):
                parts = one.name.split('.')
                if parts[:2] == ['cinder_tiers', 'loop']:
                    knows.setdefault(path.parent.name, set()).add(parts[2])
        both = {
            frozenset({room, other})
            for room, others in knows.items()
            for other in others - {room}
            if room in knows.get(other, ())
        }
        # A sweep makes faults, and a fault is a sweep of one slot.
        self.assertEqual({frozenset({'fault', 'sweep'})}, both)

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
        ('rally_scenarios.plugins.x', 'from cinder_tiers import workflow'),
        ('cinder_tiers.utils', ''),
    )
    @ddt.unpack
    def test_a_forbidden_import_is_found(self, module, source):
        found = violations(module, source)
        self.assertEqual(1, len(found), found)
        self.assertIn(module, found[0])
