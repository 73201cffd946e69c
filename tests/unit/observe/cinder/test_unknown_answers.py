# SPDX-License-Identifier: Apache-2.0

"""Answers of Cinder in a form that nobody has seen, made from known ones."""

import copy
import io
import json
import types

import requests
import testtools

from cinder_tiers.domain import errors
from cinder_tiers.observe.cinder import scope as scopes
from cinder_tiers.observe.cinder import state

TYPE_ID = '6685584b-1eac-4da6-b5c3-555430cf68ff'
SPEC_ID = '0388d6c6-d5d4-42a3-b289-95205c50dd15'
ANSWERS = {
    '/types': {
        'volume_types': [
            {
                'id': TYPE_ID,
                'name': 'gold',
                'description': None,
                'is_public': False,
                'extra_specs': {'tiers:name': 'gold'},
                'qos_specs_id': SPEC_ID,
            }
        ]
    },
    '/qos-specs': {
        'qos_specs': [
            {
                'id': SPEC_ID,
                'name': 'tier-gold',
                'consumer': 'front-end',
                'specs': {'total_iops_sec': '5'},
            }
        ]
    },
    '/os-quota-class-sets/default': {
        'quota_class_set': {
            'volumes_gold': 5,
            'gigabytes_gold': 5,
            'snapshots_gold': 5,
        }
    },
    f'/types/{TYPE_ID}/encryption': {
        'encryption_id': 'e',
        'provider': 'luks',
        'cipher': 'aes-xts-plain64',
        'key_size': 256,
        'control_location': 'front-end',
    },
    '/default-types': {
        'default_types': [{'project_id': 'p', 'volume_type_id': TYPE_ID}]
    },
}


class Cinder:
    """Answers what it is told to."""

    default_microversion = '3.0'

    def __init__(self, answers):
        self.answers = answers

    def request(self, path, method, **unused):
        answer = requests.Response()
        answer.status_code = 200
        answer.url = f'http://cinder{path}'
        answer.raw = io.BytesIO(json.dumps(self.answers[path]).encode())
        return answer

    def get_type_access(self, ident):
        return [{'project_id': 'p'}]


def observed(answers):
    return state.observe(
        types.SimpleNamespace(block_storage=Cinder(answers)),
        scopes.Scope(
            access_of=lambda one: True,
            encryption_of=lambda one: True,
            project_defaults=True,
        ),
    )


def places(value, path=()):
    for key, inner in (
        value.items() if isinstance(value, dict) else enumerate(value)
    ):
        yield *path, key
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))


class UnknownAnswersTestCase(testtools.TestCase):
    def test_known_answers_are_read(self):
        found = observed(ANSWERS)
        self.assertEqual(5, found.quotas['gold'].volumes)
        self.assertEqual(256, found.encryptions['gold'].key_size_bits)
        self.assertEqual(
            frozenset('p'), found.project_defaults['gold'].default_for
        )

    def test_no_key_of_an_answer_ends_in_a_traceback(self):
        refused = 0
        for path, *place in places(ANSWERS):
            if not place:
                continue
            for value in ('left out', None, 7, 'odd', ['odd']):
                answers = copy.deepcopy(ANSWERS)
                inner = answers[path]
                for key in place[:-1]:
                    inner = inner[key]
                if value == 'left out':
                    del inner[place[-1]]
                else:
                    inner[place[-1]] = value
                try:
                    observed(answers)
                except errors.TiersError as error:
                    refused += 1
                    self.assertIn('Cinder ', str(error))
        self.assertGreater(refused, 40)
