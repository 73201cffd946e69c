# SPDX-License-Identifier: Apache-2.0

"""What Glance answers of a namespace, and what nobody has seen it answer."""

import copy

import testtools

from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.domain import errors
from cinder_tiers.domain.state import glance as glance_state
from cinder_tiers.observe.glance import tag_namespace

#: As Glance 32 gives it.
ANSWER = {
    'namespace': glance_state.NAMESPACE,
    'display_name': 'Storage tiers',
    'description': glance_state.MARK,
    'visibility': 'public',
    'protected': False,
    'owner': '1' * 32,
    'created_at': '2026-11-30T05:15:41Z',
    'updated_at': '2026-11-30T05:15:41Z',
    'resource_type_associations': [
        {'name': 'OS::Glance::Image', 'created_at': '2026-11-30T05:15:41Z'}
    ],
    'properties': {'theirs': {'title': 'theirs', 'type': 'string'}},
    'objects': [{'name': 'also-theirs', 'required': []}],
    'tags': [{'name': 'd\xe4t\xe4'}, {'name': 'a/b c'}],
    'self': '/v2/metadefs/namespaces/CinderTiers::StorageTiers',
    'schema': '/v2/schemas/metadefs/namespace',
}


class TagNamespaceTestCase(testtools.TestCase):
    def test_a_known_answer_is_read(self):
        found = tag_namespace.parse(ANSWER)
        self.assertEqual(
            (True, True, True, {'d\xe4t\xe4', 'a/b c'}),
            (
                found.is_ours,
                found.is_public,
                found.is_for_images,
                found.tags,
            ),
        )
        self.assertEqual({'theirs', 'also-theirs'}, found.others)

    def test_what_is_empty_may_be_left_out(self):
        self.assertEqual(
            glance_state.TagNamespace(
                is_public=False, is_for_images=False, tags=frozenset()
            ),
            tag_namespace.parse({'visibility': 'private'}),
        )

    def test_an_answer_that_is_not_known_is_no_traceback(self):
        refused = 0
        for key in ANSWER:
            for value in (None, 7, 'odd', ['odd'], [{'name': 7}], {'a': 1}):
                answer = copy.deepcopy(ANSWER)
                answer[key] = value
                try:
                    with openstack_client.asking('Glance did not show it'):
                        tag_namespace.parse(answer)
                except errors.TiersError as error:
                    refused += 1
                    self.assertIn('Glance did not show it', str(error))
        self.assertGreater(refused, 15)
