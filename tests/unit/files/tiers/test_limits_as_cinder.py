# SPDX-License-Identifier: Apache-2.0

"""What a tiers file may have for Cinder is what Cinder's own schemas take."""

import sys
import unicodedata

from cinder.api.schemas import qos_specs
from cinder.api.schemas import types_extra_specs
from cinder.api.schemas import volume_types
from cinder.api.validation import validators
import ddt
from hypothesis import given
from hypothesis import strategies
import testtools

from cinder_tiers.domain.catalog import limits


def takes(schema, body):
    """Whether Cinder takes the body of a request."""
    return validators._SchemaValidator(schema).validator.is_valid(body)


def type_with(**attributes):
    return {'volume_type': {'name': 'gold', **attributes}}


def texts_of(limit):
    """Texts that a limit allows."""
    found = (
        strategies.text(max_size=limit.max_chars)
        if limit.pattern is None
        else strategies.from_regex(limit.pattern, fullmatch=True)
    )
    return found.filter(limit.fits)


@ddt.ddt
class LimitsTestCase(testtools.TestCase):
    def test_a_description_has_the_characters_that_cinder_takes(self):
        pattern = volume_types.create['properties']['volume_type'][
            'properties'
        ]['description']['pattern']
        by_cinder = limits.Text(pattern=pattern, expected='')
        different = [
            hex(number)
            for number in range(sys.maxunicode + 1)
            if limits.DESCRIPTION.fits(chr(number))
            != by_cinder.fits(chr(number))
            # That depends on the Python.
            and unicodedata.category(chr(number)) != 'Cn'
        ]
        # Of Cinder's pattern "$" stands before a last line break, which
        # fullmatch does not know.
        self.assertEqual([hex(ord('\n'))], different)

    @ddt.data(
        '',
        'Fast',
        ' a  b ',
        'a\n',
        'Größe',
        'a\xa0b',
        '日本',
        'a\nb',
        'a\n\n',
        'a\tb',
        'a\rb',
        'a\xadb',
        'a\u200db',
        '\ue000',
        '\ufeffa',
        '\U0001f600',
        'x' * 255,
        'x' * 256,
        'x' * 255 + '\n',
    )
    def test_a_description_is_what_cinder_takes(self, text):
        self.assertEqual(
            takes(volume_types.create, type_with(description=text)),
            limits.DESCRIPTION.fits(text),
        )

    @given(strategies.data())
    def test_what_fits_is_taken(self, data):
        def drawn(limit):
            return data.draw(texts_of(limit))

        specs = {drawn(limits.EXTRA_SPEC_KEY): drawn(limits.EXTRA_SPEC)}
        made = type_with(
            name=drawn(limits.TYPE_NAME),
            extra_specs=specs,
            **{'os-volume-type-access:is_public': True},
        )
        self.assertTrue(takes(volume_types.create, made), made)
        self.assertTrue(
            takes(types_extra_specs.create, {'extra_specs': specs})
        )
        of_qos = {drawn(limits.QOS_KEY): drawn(limits.QOS_LIMIT)}
        self.assertTrue(takes(qos_specs.set, {'qos_specs': of_qos}), of_qos)
        name = f'tier-{drawn(limits.NAME)}'
        self.assertTrue(
            takes(qos_specs.create, {'qos_specs': {'name': name, **of_qos}})
        )
