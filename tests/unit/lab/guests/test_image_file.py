# SPDX-License-Identifier: Apache-2.0

import dataclasses
import os
import pathlib

import fixtures
import testtools

from lab.guests import image_file
from lab.guests.minimal import debian_packages
from lab.guests.minimal import image
from lab.host import commands


class StampTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.built = folder / 'built.raw'
        self.built.write_bytes(b'an image')
        self.output = folder / 'images' / 'guest.raw'
        package = debian_packages.Package(name='p', version='1', sha256='00')
        self.inputs = image.Inputs(
            kernel=package,
            busybox=package,
            libaio=package,
            fio=package,
            host={'gcc': '12'},
            host_files={'/sbin/mke2fs': 'ee'},
            recipe_sha256='ff',
        )

    def is_untouched(self, *package_state):
        return image_file.is_untouched(self.output, 'ff', package_state)

    def test_published_image_is_current(self):
        image_file.publish(self.built, self.output, self.inputs)
        self.assertEqual(b'an image', self.output.read_bytes())
        self.assertTrue(image_file.is_current(self.output, self.inputs))

    def test_nothing_is_not_current(self):
        self.assertFalse(image_file.is_current(self.output, self.inputs))

    def test_image_without_its_stamp_is_not_current(self):
        self.output.parent.mkdir()
        self.output.write_bytes(b'an image')
        self.assertFalse(image_file.is_current(self.output, self.inputs))

    def test_stamp_without_its_image_is_not_current(self):
        image_file.publish(self.built, self.output, self.inputs)
        self.output.unlink()
        self.assertFalse(image_file.is_current(self.output, self.inputs))

    def test_altered_image_is_not_current(self):
        image_file.publish(self.built, self.output, self.inputs)
        self.output.write_bytes(b'An image')
        self.assertFalse(image_file.is_current(self.output, self.inputs))

    def test_image_of_other_inputs_is_not_current(self):
        image_file.publish(self.built, self.output, self.inputs)
        package = debian_packages.Package(name='p', version='2', sha256='00')
        others = {
            'kernel': package,
            'busybox': package,
            'libaio': package,
            'fio': package,
            'host': {'gcc': '13'},
            'recipe_sha256': 'fe',
        }
        for field, value in others.items():
            inputs = dataclasses.replace(self.inputs, **{field: value})
            self.assertFalse(image_file.is_current(self.output, inputs), field)

    def test_untouched_image_needs_no_question_to_apt(self):
        image_file.publish(self.built, self.output, self.inputs)
        packages = self.built.with_name('status')
        packages.touch()
        os.utime(packages, (1, 1))
        self.assertTrue(self.is_untouched(packages))
        packages.touch()
        self.assertFalse(self.is_untouched(packages))
        image_file.mark_as_judged(self.output)
        os.utime(packages, (1, 1))
        self.assertTrue(self.is_untouched(packages))

    def test_image_of_another_recipe_or_altered_is_not_untouched(self):
        self.assertFalse(self.is_untouched())
        image_file.publish(self.built, self.output, self.inputs)
        self.assertTrue(self.is_untouched())
        self.assertFalse(image_file.is_untouched(self.output, 'fe', []))
        self.output.write_bytes(b'An image')
        self.assertFalse(self.is_untouched())

    def test_newer_image_replaces_the_older(self):
        image_file.publish(self.built, self.output, self.inputs)
        self.built.write_bytes(b'newer')
        newer = dataclasses.replace(self.inputs, recipe_sha256='fe')
        image_file.publish(self.built, self.output, newer)
        self.assertTrue(image_file.is_current(self.output, newer))
        self.assertEqual(
            {self.output.name, f'{self.output.name}.stamp'},
            {file.name for file in self.output.parent.iterdir()},
        )


class BuildTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def build(self, make):
        image_file.build(
            make,
            debian_packages.Package(name='p', version='1', sha256='00'),
            work_directory=self.folder / 'work',
            output=self.folder / 'guest.raw',
            log=self.folder / 'log',
        )

    @staticmethod
    def make(folder):
        folder.run('sh', '-c', 'echo made; echo an image > image')
        return folder.path / 'image'

    def test_what_was_made_is_published_and_nothing_else_is_left(self):
        self.build(self.make)
        self.assertEqual(
            {'guest.raw', 'guest.raw.stamp', 'log', 'work'},
            {path.name for path in self.folder.iterdir()},
        )
        self.assertEqual('an image\n', (self.folder / 'guest.raw').read_text())
        self.assertEqual([], list((self.folder / 'work').iterdir()))

    def test_a_build_begins_without_what_an_interrupted_one_left(self):
        rest = self.folder / 'work' / 'build' / 'rest'
        rest.mkdir(parents=True)
        (self.folder / 'log').write_text('old\n')
        self.build(self.make)
        self.assertFalse(rest.exists())
        log = (self.folder / 'log').read_text()
        self.assertNotIn('old', log)
        self.assertIn('made', log)

    def test_a_failed_build_leaves_the_image_that_is_there(self):
        (self.folder / 'guest.raw').write_text('older')
        self.assertRaises(
            commands.CommandFailed,
            self.build,
            lambda folder: folder.run('false'),
        )
        self.assertEqual('older', (self.folder / 'guest.raw').read_text())


class RecipeTestCase(testtools.TestCase):
    def digest(self, **files):
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for name, text in files.items():
            (folder / name).write_text(text)
        return image_file.recipe_sha256(folder)

    def test_names_and_contents_count_and_the_place_does_not(self):
        digest = self.digest(a='1', b='2')
        self.assertEqual(digest, self.digest(b='2', a='1'))
        self.assertNotEqual(digest, self.digest(a='1', c='2'))
        self.assertNotEqual(digest, self.digest(a='1', b='3'))
        self.assertNotEqual(digest, self.digest(a='1'))

    def test_a_file_from_elsewhere_counts(self):
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        other = folder / 'other'
        (folder / 'recipe').mkdir()
        other.write_text('1')
        digest = image_file.recipe_sha256(folder / 'recipe', other)
        other.write_text('2')
        self.assertNotEqual(
            digest, image_file.recipe_sha256(folder / 'recipe', other)
        )
