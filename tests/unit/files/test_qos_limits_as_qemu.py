# SPDX-License-Identifier: Apache-2.0

"""The rules of QoS limits, held against Cinder's own code and QEMU."""

import functools
import itertools
import shutil
import subprocess
import types
from unittest import mock

from cinder import objects
import ddt
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import limits_by_size
from cinder_tiers.domain.resources import qos_limits
from cinder_tiers.domain.resources import qos_spec
from cinder_tiers.domain.validation import catalog as catalog_rules
from tests.unit.domain import catalogs as given

objects.register_all()

from cinder.volume import manager  # noqa: E402 - needs the objects

#: {limit of libvirt: of a throttle group, as QEMU calls it}
THROTTLE = {
    **{
        f'{direction}_{what}_sec{form}': f'x-{short}-{direction}{end}'
        for direction in ('total', 'read', 'write')
        for what, short in (('bytes', 'bps'), ('iops', 'iops'))
        for form, end in (('', ''), ('_max', '-max'))
    },
    'size_iops_sec': 'x-iops-size',
}
SIZE_GIB = 100
#: Of the keys that a limit by size is made from.
ENDS = ('_per_gb', '_per_gb_min', '_max')

SOUND = (
    {'total_iops_sec': '500'},
    {'total_iops_sec': '0'},
    {'total_iops_sec': '0500'},
    {'total_iops_sec': '500', 'read_bytes_sec': '1000'},
    {'read_iops_sec': '500', 'write_iops_sec': '500'},
    {'total_iops_sec': '0', 'read_iops_sec': '500'},
    {'total_iops_sec': '500', 'total_iops_sec_max': '500'},
    {'total_iops_sec': '500', 'total_iops_sec_max': '0'},
    {'total_iops_sec': '500', 'size_iops_sec': '4096'},
    {'total_bytes_sec': str(10**15)},
    {'total_iops_sec_per_gb': '3'},
    {'total_iops_sec_per_gb': '3', 'total_iops_sec_max': '400'},
    {'total_iops_sec_per_gb': '3', 'total_iops_sec_per_gb_min': '500'},
    {'total_iops_sec_per_gb': '3', 'size_iops_sec': '4096'},
    {'total_bytes_sec_per_gb': str(10**10)},
    {
        'total_bytes_sec_per_gb': str(10**15),
        'total_bytes_sec_max': str(10**15),
    },
    {'odd_driver_key': '100M'},
)
REFUSED = (
    {'total_bytes_sec': '100M'},
    {'total_bytes_sec': '1e6'},
    {'total_bytes_sec': '-1'},
    {'total_bytes_sec': 'unlimited'},
    {'total_bytes_sec': '0.5'},
    {'total_bytes_sec': str(10**15 + 1)},
    {'total_iops_sec': '100', 'total_iops_sec_max': '200M'},
    {'total_iops_sec': '100', 'total_iops_sec_max': '50'},
    {'total_iops_sec_max': '500'},
    {'total_iops_sec': '0', 'total_iops_sec_max': '500'},
    {'total_iops_sec': '100', 'read_iops_sec_max': '500'},
    {'total_bytes_sec': '100', 'total_iops_sec_max': '500'},
    {'total_iops_sec': '100', 'write_iops_sec': '50'},
    {'size_iops_sec': '4096'},
    {'size_iops_sec': '4096', 'total_bytes_sec': '100'},
    {'size_iops_sec': '4096', 'total_iops_sec': '0'},
    {'size_iops_sec': '4k', 'total_iops_sec': '100'},
    {'total_iops_sec_per_gb': '0.5'},
    {'total_iops_sec_per_gb': '3k'},
    {'total_iops_sec_per_gb': '3', 'total_iops_sec_per_gb_min': '1.5'},
    {'total_iops_sec_per_gb': '3', 'total_iops_sec_max': '1k'},
    {'total_iops_sec_per_gb': '3', 'read_iops_sec': '100'},
    {'total_iops_sec_per_gb': '3', 'read_iops_sec_per_gb': '1'},
    {'total_iops_sec_per_gb': '3', 'read_iops_sec_max': '500'},
    {'total_bytes_sec_per_gb': str(10**15)},
)
#: What can be attached, and does not limit as it says.
WITHOUT_EFFECT = (
    {'total_iops_sec_per_gb_min': '100'},
    {'total_iops_sec_per_gb': '3', 'total_iops_sec_max': '0'},
    {'total_iops_sec_per_gb': '3', 'total_iops_sec_max': '2'},
    {
        'total_iops_sec_per_gb': '3',
        'total_iops_sec_per_gb_min': '500',
        'total_iops_sec_max': '400',
    },
)


def passed_on(specs):
    """What Cinder gives to Nova for a volume with a QoS spec."""
    found = {'consumer': 'front-end', 'specs': dict(specs)}
    info = {'data': {}}
    volume = types.SimpleNamespace(
        volume_type_id='id',
        size=SIZE_GIB,
        admin_metadata={},
        encryption_key_id=None,
    )
    of_backend = mock.Mock()
    of_backend.driver.configuration.safe_get.return_value = None
    with (
        mock.patch.object(
            manager.volume_types,
            'get_volume_type_qos_specs',
            return_value={'qos_specs': found},
        ),
        mock.patch.object(
            manager.volume_types,
            'get_volume_type_extra_specs',
            return_value={},
        ),
    ):
        manager.VolumeManager._parse_connection_options(
            of_backend,
            None,
            volume,
            info,
        )
    return info['data']['qos_specs']


def can_attach(specs):
    """Whether Cinder hands a volume over, and QEMU opens it."""
    try:
        passed = passed_on(specs)
    except ValueError:
        return False
    return takes(
        ','.join(
            f'{THROTTLE[key]}={value}'
            for key, value in passed.items()
            if key in THROTTLE
        )
    )


@functools.cache
def takes(group):
    """Whether QEMU makes a throttle group with such limits."""
    return not subprocess.run(
        [
            'qemu-io',
            *('--object', f'throttle-group,id=limits,{group}'),
            *('-c', 'quit'),
        ],
        capture_output=True,
        check=False,
    ).returncode


def found_in(**qos):
    tier = given.other_tier(fallback=True, qos=catalogs.Qos(**qos))
    return catalog_rules.check(given.of(tier))


@ddt.ddt
class LimitsTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        if shutil.which('qemu-io') is None:
            self.skipTest('qemu-io is not installed (bindep.txt)')

    @ddt.data(*SOUND)
    def test_what_is_sound_can_be_attached(self, specs):
        self.assertEqual((), found_in(front_end=specs))
        self.assertTrue(can_attach(specs))

    @ddt.data(*REFUSED)
    def test_what_cannot_be_attached_is_a_problem(self, specs):
        self.assertNotEqual((), found_in(front_end=specs))
        self.assertFalse(can_attach(specs))

    @ddt.data(*WITHOUT_EFFECT)
    def test_what_does_not_limit_is_a_problem(self, specs):
        self.assertEqual(1, len(found_in(front_end=specs)))
        self.assertTrue(can_attach(specs))

    def test_any_limits_that_are_sound_can_be_attached(self):
        keys = (
            'total_iops_sec',
            'total_iops_sec_max',
            'total_iops_sec_per_gb',
            'read_iops_sec',
            'size_iops_sec',
        )
        seen = {True: 0, False: 0}
        for values in itertools.product((None, '0', '7'), repeat=5):
            specs = {
                key: value
                for key, value in zip(keys, values, strict=True)
                if value is not None
            }
            problems = list(qos_limits.faults_of_hypervisor(specs))
            fits = can_attach(specs)
            seen[fits] += 1
            if not problems:
                self.assertTrue(fits, specs)
            # What can be attached is refused only where a cap leaves no limit.
            elif fits:
                self.assertIn('_per_gb', problems[0].found, specs)
        self.assertGreater(min(seen.values()), 50)

    @ddt.data(
        ({'total_iops_sec': '1', 'read_iops_sec': '1'}, ()),
        ({'total_bytes_sec': '100', 'total_bytes_sec_max': '200'}, ()),
        ({'maxIOPS': '0.5'}, ()),
        ({'total_bytes_sec': '100M'}, ('total_bytes_sec',)),
        ({'total_iops_sec_max': '5'}, ('total_iops_sec_max',)),
        (
            {'read_iops_sec': '9', 'read_iops_sec_max': '5'},
            ('read_iops_sec_max',),
        ),
        (
            {
                'total_iops_sec': '9',
                'total_iops_sec_max': '50',
                'total_bytes_sec': '100',
            },
            ('total_iops_sec_max',),
        ),
        ({'total_iops_sec_per_gb': '5', 'total_iops_sec_max': '9'}, ()),
        ({'total_iops_sec_per_gb': '5', 'read_iops_sec': '9'}, ()),
        ({'read_iops_sec_per_gb': '0.5'}, ('read_iops_sec_per_gb',)),
        ({'read_iops_sec_per_gb_min': '5'}, ('read_iops_sec_per_gb_min',)),
    )
    @ddt.unpack
    def test_the_rbd_driver_has_rules_of_its_own(self, specs, expected):
        on_rbd = given.tier(fallback=True, qos=catalogs.Qos(back_end=specs))
        self.assertEqual(
            expected,
            tuple(
                one.found.split()[0]
                for one in catalog_rules.check(given.of(on_rbd))
            ),
        )
        # Other drivers have other meanings of the same keys.
        self.assertEqual((), found_in(back_end=specs))

    def test_limits_by_size_are_those_of_cinder(self):
        """Whatever the values, and whatever is left out."""
        limit = 'read_bytes_sec'
        keys = (limit, *(f'{limit}{end}' for end in ENDS), 'write_iops_sec')
        for values in itertools.product((None, '0', '7', '900'), repeat=5):
            specs = {
                key: value
                for key, value in zip(keys, values, strict=True)
                if value is not None
            }
            self.assertEqual(
                {key: str(value) for key, value in passed_on(specs).items()},
                limits_by_size.of_size(specs, SIZE_GIB),
            )

    @ddt.data('3k', '0.5', '', '1e3')
    def test_what_is_no_integer_is_refused_as_cinder_does(self, value):
        for end in ENDS:
            specs = {'read_iops_sec_per_gb': '3', f'read_iops_sec{end}': value}
            self.assertRaises(ValueError, passed_on, specs)
            error = self.assertRaises(
                ValueError, limits_by_size.of_size, specs, SIZE_GIB
            )
            self.assertIn(f'read_iops_sec{end} {value!r}', str(error))

    def test_a_cap_of_the_hypervisor_is_no_burst_of_the_driver(self):
        specs = {'total_iops_sec_per_gb': '3', 'total_iops_sec_max': '400'}
        on_rbd = given.tier(
            fallback=True,
            qos=catalogs.Qos(front_end=specs, back_end=specs),
        )
        self.assertEqual((), catalog_rules.check(given.of(on_rbd)))

    @ddt.data(
        (
            {'back_end': {'totl_iops_sec': '5'}},
            "did you mean 'total_iops_sec'",
        ),
        ({'back_end': {'size_iops_sec': '5'}}, 'move it to front_end'),
        ({'back_end': {'total_iops_sec_per_gb': '5'}}, None),
        ({'back_end': {'total_iops_sec': '5'}}, None),
        ({'front_end': {'total_iops_sec_max_length': '5'}}, 'did you mean'),
    )
    @ddt.unpack
    def test_what_the_driver_passes_over_is_a_warning(self, qos, expected):
        catalog = given.of(given.tier(fallback=True, qos=catalogs.Qos(**qos)))
        said = [one.remedy for one in qos_spec.misspelled(catalog)]
        self.assertEqual(int(expected is not None), len(said))
        self.assertIn(expected or '', ''.join(said))
