# SPDX-License-Identifier: Apache-2.0

"""The image that is read is the one that cinder-api finds."""

from hypothesis import example
from hypothesis import given
from hypothesis import strategies
import testtools
import webob

from cinder_tiers.doors.images import glance
from cinder_tiers.doors.images import known_images
import tests
from tests.unit.doors.images import images_case
from tests.worlds import cinder_fixture

# The objects must be known before, which the fixture sees to.
from cinder.api.v3 import volumes  # noqa: H306

IDENTS = (
    'c0ffee00-0000-4000-8000-00000000000a',
    'c0ffee00-0000-4000-8000-00000000000b',
)
UPPER = IDENTS[0].upper()
REFS = (
    *IDENTS,
    UPPER,
    IDENTS[0].replace('-', ''),
    '{' + IDENTS[0] + '}',
    f'urn:uuid:{IDENTS[0]}',
    f'{IDENTS[0]}-',
    f' {IDENTS[0]}',
    f'http://host/v2/images/{IDENTS[0]}',
    f'/{IDENTS[0]}',
    f'{IDENTS[0]}/',
    f'{IDENTS[0]}?x=1',
    f'a/b/{UPPER}',
    'debian',
    'debian/12',
    '',
    '/',
    '//',
    '..',
    '\ud800',
    'in:a,b',
    '%2e',
    '\x00',
    'a&name=debian',
)
#: What the properties of an image may be; only '[' cannot be read by Cinder.
PROPERTIES = (
    {},
    {'block_device_mapping': '['},
    {'mappings': '['},
    {'block_device_mapping': '[]'},
    {'mappings': 'null'},
    {'other': '['},
    {'block_device_mapping': '[{"boot_index": 0}]'},
)
NAMES = strategies.sampled_from(REFS)
IMAGES = strategies.dictionaries(
    # As ids go in Glance: some databases know them in upper case as well.
    strategies.sampled_from((*IDENTS, UPPER, 'd' * 32)),
    strategies.one_of(
        strategies.sampled_from((400, 401, 403, 404)),
        strategies.tuples(NAMES, strategies.sampled_from(PROPERTIES)),
    ),
    max_size=4,
)


class AsCinderTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.cinder = self.useFixture(cinder_fixture.Scheduler())
        self.glance = self.cinder.glance
        self.user = self.cinder.user()

    def add(self, ident, image):
        if not isinstance(image, int):
            name, properties = image
            added = self.glance.add_image(name=name, **properties)
            image = self.glance.images.pop(added)
            image['id'] = IDENTS[0] if ident == UPPER else ident
            # Where they are found is not always what they are called.
            if ident == 'd' * 32:
                image['id'] = images_case.IDENT
                ident = images_case.IDENT
        self.glance.images[ident] = image

    def found_by_cinder(self, ref):
        try:
            return volumes.VolumeController._image_uuid_from_ref(
                None, ref, self.user
            )
        except (webob.exc.HTTPBadRequest, webob.exc.HTTPConflict):
            return None

    def found(self, known, ref):
        try:
            return known.read(
                self.user,
                ref,
                known_images.CacheLimits(**{**images_case.LIMITS}),
            ).facts.image_id
        except glance.ImageRefused:
            return None

    @tests.examples(200)
    @given(IMAGES, strategies.lists(NAMES, min_size=1, max_size=3))
    @example({IDENTS[0]: 404, IDENTS[1]: (IDENTS[0], {})}, [IDENTS[0]])
    @example(
        {IDENTS[0]: ('a', {'mappings': '['}), IDENTS[1]: (IDENTS[0], {})},
        [IDENTS[0]],
    )
    @example(
        {IDENTS[0]: ('a', {}), IDENTS[1]: (f'/{IDENTS[0]}', {})},
        [f'/{IDENTS[0]}', IDENTS[0]],
    )
    @example(
        {IDENTS[1]: (f'/{IDENTS[0]}', {})},
        [IDENTS[0], f'/{IDENTS[0]}', IDENTS[0]],
    )
    @example(
        {IDENTS[0]: ('debian', {}), IDENTS[1]: ('debian', {})}, ['debian']
    )
    @example({IDENTS[0]: ('debian', {'mappings': '['})}, ['debian'])
    @example({UPPER: ('a', {})}, [UPPER, IDENTS[0]])
    @example({UPPER: ('a', {}), IDENTS[0]: 400}, [UPPER, IDENTS[0]])
    def test_the_same_image_whatever_the_reference(self, known, refs):
        self.glance.forget()
        for ident, image in known.items():
            self.add(ident, image)
        # A database that finds an image in upper case finds it as it is, too.
        if UPPER in known and not isinstance(known[UPPER], int):
            self.glance.images[IDENTS[0]] = self.glance.images[UPPER]
        # What was read before must not change what is read now.
        memory = known_images.Images(size=100)
        self.assertEqual(
            [self.found_by_cinder(ref) for ref in refs],
            [self.found(memory, ref) for ref in refs],
        )
