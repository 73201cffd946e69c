# SPDX-License-Identifier: Apache-2.0

"""`observe` writes nothing: no call of it can change Cinder or Ceph.

Nor does what observes for a room of `loop`, in files named `observed_*.py`.

Sources are read with ast and nothing is imported, so that a call counts even
where no test reaches it.
"""

import ast
import pathlib
import re

import ddt
import testtools

from cinder_tiers.domain.plan import ceph_access

PACKAGE = pathlib.Path(__file__).resolve().parents[3] / 'cinder_tiers'
OBSERVE = PACKAGE / 'observe'
#: Commands that change nothing.
READS = frozenset(one.prefix for one in ceph_access.READS)
#: Methods of the session with Ceph and of openstacksdk that write.
WRITES = re.compile(
    r'set_rbd_option|put|post|patch|delete|mon_command|mgr_command'
    r'|osd_command'
    r'|(add|create|delete|remove|set|unset|update)_\w+'
)


def sources():
    """All files that observe."""
    return sorted(
        [*OBSERVE.rglob('*.py'), *PACKAGE.glob('loop/*/observed_*.py')]
    )


def writing_calls(source):
    """The calls of a source text that write, or may; each as its text."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        ):
            continue
        name = node.func.attr
        values = [getattr(one, 'value', None) for one in node.args]
        if name in ('command', 'ask_manager', 'tell'):
            prefix = values[1 if name == 'tell' else 0]
            writes = prefix not in READS
        elif name == 'request':
            writes = 'GET' not in values
        else:
            writes = WRITES.fullmatch(name) is not None
        if writes:
            found.append(ast.unparse(node))
    return found


@ddt.ddt
class ReadsOnlyTestCase(testtools.TestCase):
    def test_observe_writes_nothing(self):
        self.assertIn(OBSERVE / 'ceph' / 'pool.py', sources())
        self.assertIn(
            PACKAGE / 'loop' / 'watch' / 'observed_activity.py', sources()
        )
        self.assertEqual(
            {},
            {
                str(path.relative_to(PACKAGE)): found
                for path in sources()
                if (found := writing_calls(path.read_text('utf-8')))
            },
        )

    @ddt.data(
        'session.command("osd pool set", pool="a")',
        'session.command(prefix)',
        'session.tell(0, "config set")',
        'session.set_rbd_option("a", "b", None)',
        'openstack_client.request(service, "PUT", "/types")',
        'openstack_client.request(service, method, "/types")',
        'connection.block_storage.update_type(one, name="b")',
        'connection.block_storage.put("/types")',
    )
    def test_a_write_is_found(self, source):
        self.assertEqual(1, len(writing_calls(source)))

    @ddt.data(
        'session.command("osd tree")',
        'session.tell(osd_id, "config diff")',
        'openstack_client.request(service, "GET", "/types")',
        'connection.block_storage.types(is_public="None")',
        'found.update(more)',
    )
    def test_a_read_passes(self, source):
        self.assertEqual([], writing_calls(source))
