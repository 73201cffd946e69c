# SPDX-License-Identifier: Apache-2.0

"""What a tenant or a cloud wrote is not part of a URL.

`clients.openstack.request` makes paths of a text of ours and of ids that it
checks; openstacksdk makes a path of whatever its methods are given.
"""

import ast
import pathlib

import testtools

TOP = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = (
    'cinder_tiers/cli',
    'cinder_tiers/clients',
    'cinder_tiers/execute',
    'cinder_tiers/loop',
    'cinder_tiers/observe',
    'rally_scenarios',
)
#: Functions of ours that take a path: {name: place of the path}.
TAKE_PATH = {'request': 2, 'rows': 1, '_by_id': 1, '_call': 1}
#: Services of openstacksdk, as attributes.
SERVICES = {
    'block_storage',
    '_block_storage',
    'compute',
    'identity',
    'image',
    'network',
}
#: What looks up a text as an id first.
FIND = 'find_'
#: Take a path.
RAW = {'get', 'put', 'post', 'patch', 'delete'}
EXTRA_SPECS = 'delete_type_extra_specs'
CHECKED = {'checked_id', 'checked_key'}


def _is_checked(node):
    """Whether an argument is no text that somebody else chose."""
    if isinstance(node, ast.List):
        return all(map(_is_checked, node.elts))
    if isinstance(node, ast.Call):
        return getattr(node.func, 'attr', '') in CHECKED
    # The ids of `clients.volume_types` and `clients.qos_specs` are checked
    # where they are read.
    return isinstance(node, ast.Constant) or (
        isinstance(node, ast.Attribute) and node.attr in ('id', 'ident')
    )


def _service(called):
    """The name of what a method is of."""
    owner = getattr(called, 'value', None)
    if isinstance(owner, ast.Name) and owner.id == 'block_storage':
        return owner.id
    return getattr(owner, 'attr', '')


def faults(text):
    """Lines with a call that makes a URL of a text that is not checked."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, 'attr', getattr(node.func, 'id', ''))
        if _service(node.func) in SERVICES:
            checked = node.args if name == EXTRA_SPECS else node.args[:1]
            if (
                name.startswith(FIND)
                or name in RAW
                or not all(map(_is_checked, checked))
            ):
                yield node.lineno, ast.unparse(node)
        place = TAKE_PATH.get(name)
        if place is not None and len(node.args) > place:
            path = node.args[place]
            if isinstance(path, ast.JoinedStr | ast.BinOp | ast.Call):
                yield node.lineno, ast.unparse(path)


class UrlsTestCase(testtools.TestCase):
    def test_urls_are_of_our_texts_and_of_ids(self):
        found = [
            f'{path.relative_to(TOP)}:{line}: {what}'
            for folder in FOLDERS
            for path in (TOP / folder).rglob('*.py')
            for line, what in faults(path.read_text('utf-8'))
        ]
        self.assertEqual([], found)

    def test_each_kind_is_found(self):
        for line in (
            "openstack_client.request(s, 'GET', f'/types/{ident}')",
            "request(s, 'GET', '/types/' + ident)",
            "rows(s, '/{}'.format(ident), key='a')",
            'connection.image.get_image(image_id)',
            'connection.image.find_image(ref)',
            'block_storage.get(path)',
            'self.block_storage.delete_type_extra_specs(self.ident, [key])',
        ):
            self.assertEqual(1, len([*faults(line)]), line)
