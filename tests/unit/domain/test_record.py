# SPDX-License-Identifier: Apache-2.0

from collections.abc import Mapping
import dataclasses
import enum
from typing import Any

import ddt
from hypothesis import given
from hypothesis import strategies
import testtools

from cinder_tiers.domain import record
from tests.unit.domain import comparing


class Colour(enum.Enum):
    RED = 'red'
    BLUE = 'blue'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Inner:
    """What is inside."""

    #: of anything,
    #: at least 0
    number: int

    def __post_init__(self) -> None:
        if self.number < 0:
            raise ValueError(f'number {self.number}: expected at least 0')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outer:
    """A record with all that may be in one."""

    text: str
    share: float | None
    flag: bool
    colour: Colour
    inner: Inner
    maybe: Inner | None
    pairs: tuple[tuple[int, str], ...]
    by_name: Mapping[str, Inner]
    value: str | int | float | bool
    names: frozenset[str]
    any: Any
    rare: int | None = record.omitted()


INNER = strategies.builds(Inner, number=strategies.integers(0))
OUTER = strategies.builds(
    Outer,
    text=strategies.text(),
    flag=strategies.booleans(),
    inner=INNER,
    share=strategies.none()
    | strategies.floats(allow_nan=False, allow_infinity=False),
    colour=strategies.sampled_from(Colour),
    maybe=strategies.none() | INNER,
    pairs=strategies.lists(
        strategies.tuples(strategies.integers(), strategies.text())
    ).map(tuple),
    by_name=strategies.dictionaries(strategies.text(), INNER),
    value=strategies.text()
    | strategies.booleans()
    | strategies.integers(-(10**99), 10**99)
    | strategies.floats(allow_nan=False, allow_infinity=False),
    names=strategies.frozensets(strategies.text()),
    any=strategies.lists(strategies.text()),
    rare=strategies.none() | strategies.integers(0, 9),
)
EXAMPLE = Outer(
    text='x',
    share=None,
    flag=True,
    colour=Colour.RED,
    inner=Inner(number=1),
    maybe=None,
    pairs=((1, 'a'),),
    by_name={'b': Inner(number=2)},
    value=True,
    names=frozenset({'c'}),
    any=[],
)


@ddt.ddt
class RecordTest(testtools.TestCase):
    @given(OUTER)
    def test_what_was_written_is_read(self, value):
        for indent in (None, 2):
            text = record.dumps(value, indent=indent, version=3)
            self.assertEqual(value, record.loads(Outer, text, version=3))

    def test_what_is_omitted_may_be_missing(self):
        self.assertNotIn('rare', record.plain(EXAMPLE))
        rare = dataclasses.replace(EXAMPLE, rare=5)
        self.assertEqual(5, record.plain(rare)['rare'])

    @ddt.data(
        ('', 'a file that is not JSON'),
        (b'\xff', 'a file that is not JSON'),
        ('[' * 100_000, 'a file that is not JSON'),
        ('{"version": NaN}', 'found NaN, which JSON does not have'),
        ('[]', 'found no object'),
        ('{}', "version: found 'None', expected 1"),
        ('{"version": true}', "version: found 'True', expected 1"),
        ('{"version": 2, "text": 1}', "version: found '2', expected 1"),
        ('{"version": 1}', 'text: it is missing'),
    )
    @ddt.unpack
    def test_a_text_that_is_none_is_told(self, text, message):
        error = self.assertRaises(
            record.RecordError, record.loads, Outer, text, version=1
        )
        self.assertIn(message, str(error))

    @ddt.data(
        ({'text': 1}, "text: found '1', expected a string"),
        ({'share': float('nan')}, "share: found 'nan', expected a finite"),
        ({'share': True}, "share: found 'True', expected a finite number"),
        ({'flag': 1}, "flag: found '1', expected a boolean"),
        ({'colour': 'green'}, "colour: found 'green', expected one of red"),
        ({'inner': {'number': -1}}, 'inner: number -1: expected at least 0'),
        ({'inner': None}, "inner: found 'None', expected an object"),
        ({'inner': {'number': True}}, "inner.number: found 'True'"),
        ({'pairs': [[1]]}, "pairs[0]: found '[1]', expected 2 elements"),
        ({'pairs': [[1, 'a'], ['1', 'a']]}, "pairs[1][0]: found '1'"),
        ({'value': None}, "value: found 'None', expected one of string, int"),
        ({'value': float('inf')}, "value: found 'inf', expected a finite"),
        ({'names': 'ab'}, "names: found 'ab', expected a list"),
        ({'names': ['a', 1]}, "names[1]: found '1', expected a string"),
        ({'by_name': {'b': 3}}, "by_name['b']: found '3'"),
        ({'more': 3}, "more: found 'more', expected one of text, share"),
    )
    @ddt.unpack
    def test_what_is_wrong_is_told_by_its_place(self, change, message):
        value = {**record.plain(EXAMPLE), **change}
        error = self.assertRaises(ValueError, record.read, Outer, value)
        self.assertEqual(message, str(error)[: len(message)])

    def test_all_that_is_wrong_is_told(self):
        value = {**record.plain(EXAMPLE), 'text': 1, 'flag': 1}
        del value['pairs']
        error = self.assertRaises(ValueError, record.read, Outer, value)
        self.assertEqual(3, len(str(error).splitlines()))

    def test_of_very_much_that_is_wrong_the_first_is_told(self):
        value = {
            'x' * 10_000: 1,
            **record.plain(EXAMPLE),
            'pairs': ['x'] * 100_000,
        }
        error = self.assertRaises(ValueError, record.read, Outer, value)
        *told, last = str(error).split('\n')
        self.assertEqual((50, 1000), (len(told), len(told[0])))
        self.assertIn('pairs[48]: found', told[-1])
        self.assertEqual('and 99951 more', last)

    def test_what_is_not_told_is_not_compared(self):
        """Whoever wrote the file: it may have a million unknown fields."""
        few, many = (
            comparing.comparisons(
                lambda number=number: self.assertRaises(
                    ValueError,
                    record.read,
                    Outer,
                    {f'field-{one:04}': 1 for one in range(number)},
                )
            )
            for number in (50, 5000)
        )
        self.assertGreater(few, 0)
        self.assertEqual(few, many)

    def test_the_schema_has_types_and_descriptions(self):
        found = record.schema(Outer)
        self.assertEqual(
            {
                'type': 'array',
                'items': {
                    'type': 'array',
                    'items': False,
                    'minItems': 2,
                    'maxItems': 2,
                    'prefixItems': [{'type': 'integer'}, {'type': 'string'}],
                },
            },
            found['properties']['pairs'],
        )
        self.assertEqual(
            [
                {'type': ['string', 'integer', 'number', 'boolean']},
                {
                    'type': 'array',
                    'items': {'type': 'string'},
                    'uniqueItems': True,
                },
                {},
            ],
            [found['properties'][name] for name in ('value', 'names', 'any')],
        )
        self.assertNotIn('rare', found['required'])
        self.assertEqual(
            {'anyOf': [{'type': 'number'}, {'type': 'null'}]},
            found['properties']['share'],
        )
        self.assertEqual(
            {
                'type': 'object',
                'description': 'What is inside.',
                'properties': {
                    'number': {
                        'description': 'of anything, at least 0',
                        'type': 'integer',
                    }
                },
                'required': ['number'],
                'additionalProperties': False,
            },
            found['$defs']['Inner'],
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Binned:
    """A record with rows of numbers, as bins and series are."""

    rows: tuple[tuple[int, float], ...]


@ddt.ddt
class RowsOfNumbersTest(testtools.TestCase):
    """Many rows are checked at once; what is wrong is told as of one."""

    def test_they_are_read(self):
        found = record.read(Binned, {'rows': [[1, 2.5], [10**99, 3]]})
        self.assertEqual(Binned(rows=((1, 2.5), (10**99, 3))), found)
        self.assertEqual({int}, set(map(type, found.rows[1])))

    @ddt.data(
        ([1.0, 2.5], 'rows[1][0]: found'),
        ([10**400, 2.5], 'rows[1][0]: found'),
        ([1, -(10**400)], 'rows[1][1]: found'),
        ([True, 2.5], 'rows[1][0]: found'),
        ([1, float('nan')], 'rows[1][1]: found'),
        ([1, None], 'rows[1][1]: found'),
        ([1], 'rows[1]: found'),
        ([1, 2, 3], 'rows[1]: found'),
        ('12', 'rows[1]: found'),
        (None, 'rows[1]: found'),
    )
    @ddt.unpack
    def test_one_that_is_wrong_is_told(self, row, place):
        error = self.assertRaises(
            ValueError, record.read, Binned, {'rows': [[1, 2.5], row]}
        )
        self.assertTrue(str(error).startswith(place), str(error))
