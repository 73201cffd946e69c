# SPDX-License-Identifier: Apache-2.0

"""Sweep file -> treatments, each as a catalog, or all that is wrong at once.

A treatment is the tiers file with other values in some places. So each of its
values is judged by the rules of the tiers file, as if it were written there,
and a problem is told with its line in the sweep file. Names of groups of
options are those of the tiers file.
"""

import collections.abc
import dataclasses
import random
import typing

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain import spelling
from cinder_tiers.domain.validation import warnings
from cinder_tiers.files import read_bounded
from cinder_tiers.files.tiers import reader as tiers_reader
from cinder_tiers.files.tiers import schema
from cinder_tiers.files.tiers import yaml_document
from cinder_tiers.loop.fault import fault as fault_values
from cinder_tiers.loop.sweep import design
from cinder_tiers.loop.sweep import file_faults
from cinder_tiers.loop.sweep import rules

VERSION = 1
MAX_SIZE_BYTES = 2**18
MOST_BLOCKS = 100

GUEST = 'guest'
#: {place in the sweep file: place below the tier in the tiers file}
_GROUPS: collections.abc.Mapping[catalogs.Path, catalogs.Path] = {
    ('osd_options',): ('rbd', 'osd_options'),
    ('pool_options',): ('rbd', 'pool_options'),
    ('rbd_options',): ('rbd', 'rbd_options'),
    ('qos', 'front_end'): ('qos', 'front_end'),
    ('qos', 'back_end'): ('qos', 'back_end'),
}

_VALUE = {
    'description': 'text, a number, true or false',
    'type': ['string', 'number', 'boolean'],
}
_VALUES = {
    'description': 'a list of different values, at least one',
    'type': 'array',
    'minItems': 1,
    'uniqueItems': True,
    'items': _VALUE,
}


def _mapping(values: dict, expected: str) -> dict[str, object]:
    return {
        'description': expected,
        'type': 'object',
        'minProperties': 1,
        'additionalProperties': values,
    }


def _groups(values: dict, what: str) -> dict[str, object]:
    """Return the schema of groups of options.

    :param what: content of each option: a value or a list of values.
    """
    one = _mapping(values, f'a mapping of options to {what}')
    return {
        'description': 'a mapping with some of osd_options, pool_options, '
        'rbd_options, qos and guest',
        'type': 'object',
        'additionalProperties': False,
        'minProperties': 1,
        'properties': {
            'osd_options': one,
            'pool_options': one,
            'rbd_options': one,
            'qos': {
                'description': 'a mapping with front_end, back_end or both',
                'type': 'object',
                'additionalProperties': False,
                'minProperties': 1,
                'properties': {'front_end': one, 'back_end': one},
            },
            GUEST: one,
        },
    }


SCHEMA: dict[str, object] = {
    '$schema': 'https://json-schema.org/draft/2020-12/schema',
    'title': f'Sweep file (cinder-tiers), version {VERSION}',
    'description': 'a mapping with version, tier and either factors or '
    'treatments',
    'type': 'object',
    'additionalProperties': False,
    'required': ['version', 'tier'],
    'oneOf': [{'required': ['factors']}, {'required': ['treatments']}],
    'properties': {
        'version': {
            'description': f'the version of this format, {VERSION}',
            'const': VERSION,
        },
        'tier': {
            'description': 'the name of a tier of the tiers file',
            'type': 'string',
        },
        'vary': {
            'description': f'one of {", ".join(design.WAYS)}',
            'enum': list(design.WAYS),
        },
        'factors': _groups(_VALUES, 'lists of values'),
        'treatments': {
            'description': 'a mapping of names to options with their values',
            'type': 'object',
            'minProperties': 1,
            'propertyNames': {
                'description': 'a name of 1 to 80 letters, digits and any of '
                f"'_.=-', and not {design.DEFAULT}",
                'pattern': f'^(?!{design.DEFAULT}$)[A-Za-z0-9_.=-]{{1,80}}$'
                '(?!\\n)',
            },
            'additionalProperties': _groups(_VALUE, 'values'),
        },
        'blocks': {
            'description': f'an integer from 1 to {MOST_BLOCKS}',
            'type': 'integer',
            'minimum': 1,
            'maximum': MOST_BLOCKS,
        },
        'seed': {
            'description': 'an integer of 0 or more',
            'type': 'integer',
            'minimum': 0,
        },
        'slot_minutes': {
            'description': 'a number from 0.01 to 10000',
            'type': 'number',
            'minimum': 0.01,
            'maximum': 10_000,
        },
        'slot_limit_minutes': {
            'description': 'a number from 0.01 to 10000',
            'type': 'number',
            'minimum': 0.01,
            'maximum': 10_000,
        },
    },
}


#: Of a file with faults, which may change nothing else.
FAULT_SCHEMA: dict[str, object] = {
    **{name: value for name, value in SCHEMA.items() if name != 'oneOf'},
    'title': f'Fault file (cinder-tiers), version {VERSION}',
    'description': 'a mapping with version, tier and faults',
    'required': ['version', 'tier', file_faults.FAULTS],
    'properties': {
        **typing.cast(dict, SCHEMA['properties']),
        **file_faults.PROPERTIES,
    },
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class SweepFile:
    """A sound sweep file, with the catalog of each treatment."""

    sweep: design.Sweep
    #: {treatment: catalog}, that of the default among them.
    catalogs: collections.abc.Mapping[str, catalogs.Catalog]
    text: str
    #: That are made in each slot.
    faults: fault_values.Faults = fault_values.Faults()
    #: After which the command of a slot is taken to hang; None: never.
    slot_limit_minutes: float | None = None


def read_file(
    path: str,
    tiers: tiers_reader.TiersFile,
    *,
    blocks: int | None = None,
    has_faults: bool = False,
) -> SweepFile:
    """Read a sweep file.

    :param tiers: tiers file from which the sweep starts.
    :param blocks: number of blocks that replaces that of the file, from 1 to
        `MOST_BLOCKS`.
    :param has_faults: True: the file must have faults; False: it must not.
    :raises errors.ProblemsFound: the file cannot be read or is not sound.
    """
    try:
        text = read_bounded.read(path, max_bytes=MAX_SIZE_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise errors.ProblemsFound(
            [
                errors.Problem(
                    where=path,
                    found=getattr(error, 'strerror', None) or str(error),
                    expected='a sweep file in UTF-8',
                    remedy='check the name of the file',
                )
            ]
        ) from error
    return read_text(
        text, file=path, tiers=tiers, blocks=blocks, has_faults=has_faults
    )


def read_text(
    text: str,
    *,
    file: str,
    tiers: tiers_reader.TiersFile,
    blocks: int | None = None,
    has_faults: bool = False,
) -> SweepFile:
    """Read the text of a sweep file.

    :param file: name for messages.
    :param tiers: tiers file from which the sweep starts.
    :param blocks: number of blocks that replaces that of the file, from 1 to
        `MOST_BLOCKS`.
    :param has_faults: True: the file must have faults; False: it must not.
    :raises errors.ProblemsFound: with all problems, in the order of the file.
    """
    document = yaml_document.read(text, file=file)
    if (
        not has_faults
        and isinstance(document.value, dict)
        and file_faults.FAULTS in document.value
    ):
        raise errors.ProblemsFound([_faults_of_a_sweep(document.source)])
    value, structural = schema.check(
        document.value,
        document.source,
        described=FAULT_SCHEMA if has_faults else SCHEMA,
        what='the fault file' if has_faults else 'the sweep file',
    )
    problems = [*document.problems, *structural]
    if problems:
        raise errors.ProblemsFound(problems)
    reading = _SweepReading(value, document.source, tiers)
    reading.check_tier()
    made = reading.read_faults()
    treatments = reading.treatments()
    if reading.problems:
        raise errors.ProblemsFound(reading.problems)
    sweep = design.Sweep(
        tier=value['tier'],
        treatments=tuple(treatments),
        blocks=blocks or value.get('blocks', 3),
        # Any will do; it is told, so that the order can come again.
        seed=value.get('seed', random.SystemRandom().randrange(2**31)),
        slot_minutes=value.get('slot_minutes'),
    )
    if len(sweep.slots) > design.MOST_SLOTS:
        raise errors.ProblemsFound(
            [
                errors.Problem(
                    where=document.source.where(('blocks',)),
                    found=f'{len(sweep.slots)} slots',
                    expected=f'at most {design.MOST_SLOTS}',
                    remedy='use fewer blocks or fewer treatments',
                )
            ]
        )
    found = {design.DEFAULT: tiers.catalog}
    for treatment in treatments:
        catalog = reading.catalog_of(treatment)
        if catalog is not None:
            found[treatment.name] = catalog
    reading.problems.update(dict.fromkeys(rules.check(sweep, reading.sources)))
    if reading.problems:
        raise errors.ProblemsFound(
            sorted(reading.problems, key=lambda one: _line(one, file))
        )
    return SweepFile(
        sweep=sweep,
        catalogs=found,
        text=text,
        faults=made,
        slot_limit_minutes=value.get('slot_limit_minutes'),
    )


def _faults_of_a_sweep(source: catalogs.CatalogSource) -> errors.Problem:
    return errors.Problem(
        where=source.where((file_faults.FAULTS,)),
        found='faults, which "openstack tier sweep" does not make',
        expected='a sweep file without faults',
        remedy='run "openstack tier fault" with it',
    )


def _line(problem: errors.Problem, file: str) -> int:
    where, _, line = problem.where.rpartition(':')
    return int(line) if where == file and line.isdecimal() else 0


class _SweepReading:
    """A sweep file of the right structure, and what is wrong with it."""

    def __init__(
        self,
        value: dict,
        source: catalogs.CatalogSource,
        tiers: tiers_reader.TiersFile,
    ) -> None:
        #: Each once, in the order in which they were found.
        self.problems: dict[errors.Problem, None] = {}
        #: {treatment: where its values were written}.
        self.sources: dict[str, catalogs.CatalogSource] = {}
        self._value = value
        self._source = source
        self._tiers = tiers

    def _problem(
        self, place: catalogs.Path, found: str, expected: str, remedy: str
    ) -> None:
        self.problems[
            errors.Problem(
                where=self._source.where(place),
                found=found,
                expected=expected,
                remedy=remedy,
            )
        ] = None

    def check_tier(self) -> None:
        """The tier exists and is managed."""
        name = self._value['tier']
        names = [one.name for one in self._tiers.catalog.tiers]
        tier = self._tiers.catalog.tier(name)
        if tier is None:
            self._problem(
                ('tier',),
                f'tier {name!r}, which {self._tiers.whole.files[0]} does not '
                'have',
                f'one of {", ".join(names)}',
                spelling.did_you_mean(name, names) + 'fix it',
            )
        elif not tier.take_over:
            self._problem(
                ('tier',),
                f'tier {name!r} has take_over: false',
                'a tier that "tier apply" manages',
                'take it over first, or name another tier',
            )

    def read_faults(self) -> fault_values.Faults:
        """The faults; what is wrong with them goes to `problems`."""
        found, problems = file_faults.read(self._value, self._source)
        self.problems.update(dict.fromkeys(problems))
        tier = self._tiers.catalog.tier(self._value['tier'])
        if found.faults and tier is not None and tier.rbd is None:
            self._problem(
                ('tier',),
                f'tier {tier.name!r}, which has no rbd',
                'a tier with a Ceph pool, in which faults can be made',
                'name another tier',
            )
        return found

    def treatments(self) -> tuple[design.Treatment, ...]:
        """The treatments; what is wrong with them goes to `problems`."""
        way = self._value.get('vary')
        has_both = {'factors', 'treatments'} <= self._value.keys()
        if has_both:
            self._problem(
                ('factors',),
                'factors together with treatments',
                'one of them, or none',
                'remove one of them',
            )
        if has_both or not {'factors', 'treatments'} & self._value.keys():
            return ()
        if 'treatments' in self._value:
            if way not in (None, design.TOGETHER):
                self._problem(
                    ('vary',),
                    f'vary: {way} together with treatments',
                    f'{design.TOGETHER}, or no vary: each treatment has all '
                    'of its options at once',
                    'remove vary, or write factors',
                )
            return tuple(
                self._named(name, groups)
                for name, groups in self._value['treatments'].items()
            )
        if way == design.TOGETHER:
            self._problem(
                ('vary',),
                f'vary: {design.TOGETHER} together with factors',
                'treatments, each with a name and all of its options',
                'write treatments, or use one_at_a_time or product',
            )
        return self._of_factors(
            design.PRODUCT if way == design.PRODUCT else design.ONE_AT_A_TIME
        )

    def _named(self, name: str, groups: dict) -> design.Treatment:
        changes, guest, lines = {}, {}, {}
        for place, option, value in _options(groups):
            line = self._source.lines.get(
                ('treatments', name, *place, option), 1
            )
            if place == (GUEST,):
                guest[option] = value
            else:
                target = self._target(place, option)
                changes[target] = value
                lines[target] = line
        self.sources[name] = catalogs.CatalogSource(
            file=self._source.file, lines=lines
        )
        return design.Treatment(name=name, changes=changes, guest=guest)

    def _of_factors(self, way: str) -> tuple[design.Treatment, ...]:
        factors, guest, lines = {}, set(), {}
        for place, option, values in _options(self._value['factors']):
            target = self._target(place, option)
            if place == (GUEST,):
                target = (GUEST, option)
                guest.add(target)
            factors[target] = values
            for index, value in enumerate(values):
                lines[target, repr(value)] = self._source.lines.get(
                    ('factors', *place, option, index), 1
                )
        count = design.count_of(factors, way)
        if count > design.MOST_TREATMENTS:
            self._problem(
                ('factors',),
                f'{count} treatments',
                f'at most {design.MOST_TREATMENTS}',
                'use fewer values, or vary: one_at_a_time',
            )
            return ()
        found = design.treatments_of(factors, way, guest=guest)
        names = [one.name for one in found]
        for name in dict.fromkeys(names):
            # Their slots and results would be taken for each other's.
            if names.count(name) > 1:
                self._problem(
                    ('factors',),
                    f'{names.count(name)} treatments of the name {name!r}',
                    'values that differ as they are written, such as 1 and 2, '
                    "not 1 and '1'",
                    'remove one of them',
                )
        for one in found:
            self.sources[one.name] = catalogs.CatalogSource(
                file=self._source.file,
                lines={
                    place: lines[place, repr(value)]
                    for place, value in one.changes.items()
                },
            )
        return found

    def _target(self, place: catalogs.Path, option: str) -> catalogs.Path:
        """The place of an option in the tiers file."""
        return (
            'tiers',
            self._value['tier'],
            *_GROUPS.get(place, place),
            option,
        )

    def catalog_of(
        self, treatment: design.Treatment
    ) -> catalogs.Catalog | None:
        """The tiers file with a treatment; None when it is not sound."""
        tier = self._tiers.catalog.tier(self._value['tier'])
        source = self.sources[treatment.name]
        if any('rbd' in place for place in treatment.changes) and (
            tier is None or tier.rbd is None
        ):
            place = next(one for one in treatment.changes if 'rbd' in one)
            self.problems[
                errors.Problem(
                    where=source.where(place),
                    found=f'{place[-2]} of tier {self._value["tier"]!r}, '
                    'which has no rbd',
                    expected='options of qos or guest for a tier on storage '
                    'that exists',
                    remedy='remove it, or name another tier',
                )
            ] = None
            return None
        try:
            catalog = tiers_reader.with_changes(
                self._tiers.whole, treatment.changes, source
            )
        except errors.ProblemsFound as error:
            self._add(error.problems, treatment.name)
            return None
        # A tiers file may have a value without an effect. To measure
        # it would be in vain.
        self._add(
            (
                one
                for one in warnings.check(catalog)
                if one.where.rpartition(':')[0] == self._source.file
            ),
            treatment.name,
        )
        return catalog

    def _add(
        self,
        found: collections.abc.Iterable[errors.Problem],
        treatment: str,
    ) -> None:
        for one in found:
            if one.where.rpartition(':')[0] != self._source.file:
                one = dataclasses.replace(
                    one, found=f'with treatment {treatment}: {one.found}'
                )
            self.problems[one] = None


def _options(
    groups: dict,
) -> collections.abc.Iterator[tuple[catalogs.Path, str, typing.Any]]:
    """(place of the group, option, value or values)."""
    for group, options in groups.items():
        if group == 'qos':
            for consumer, limits in options.items():
                for option, value in limits.items():
                    yield (group, consumer), option, value
            continue
        for option, value in options.items():
            yield (group,), option, value
