# SPDX-License-Identifier: Apache-2.0

"""Watches of tiers of which the truth is known, window by window.

A window's value is the median of ten writes. Alarms are counted as the watch
judges: in each window, with what it keeps.
"""

import dataclasses
import math

import numpy
from scipy import signal

from cinder_tiers.loop.watch import change
from cinder_tiers.loop.watch import judgement
from cinder_tiers.loop.watch import series
from cinder_tiers.loop.watch import usual

BEGAN = 1_700_000_000.0
DAY = round(86400 / series.WINDOW_S)
MINUTE = round(60 / series.WINDOW_S)
#: Windows of a rise over so long: of 0, 40 minutes and 3 hours.
RISES = (0, 40 * MINUTE, 180 * MINUTE)


def _wandering(draw, count, correlation, deviation=0.15):
    """A level that wanders; each window is correlated with the next."""
    scale = deviation * math.sqrt(1 - correlation**2)
    before = 2000
    noise = draw.normal(0, scale, count + before)
    return signal.lfilter([1], [1, -correlation], noise)[before:]


def _days(draw, place):
    """Of office hours, twice as slow as at night, 10 % more or less."""
    height = draw.normal(1, 0.1, len(place) // DAY + 1)
    return (
        math.log(2)
        * numpy.clip(numpy.sin(2 * numpy.pi * place / DAY), 0, 1)
        * numpy.repeat(height, DAY)[: len(place)]
    )


def _weeks(draw, place):
    """As `_days`, but not on two of seven days."""
    return _days(draw, place) * (place // DAY % 7 < 5)


def _jobs(draw, count, *, every, lasts, factor):
    """Of minutes; each begins and ends up to a fifth earlier or later."""
    found = numpy.zeros(count)
    for middle in numpy.arange(every / 2, count / MINUTE, every):
        begin = middle + draw.uniform(-0.2, 0.2) * lasts
        end = begin + lasts * (1 + draw.uniform(-0.2, 0.2))
        found[round(begin * MINUTE) : round(end * MINUTE)] = math.log(factor)
    return found


def _bursts(draw, count, *, every):
    """Of 20 s to 3 minutes, at any time, of 1.7 to 5 times the latency."""
    found = numpy.zeros(count)
    for begin in numpy.flatnonzero(draw.random(count) < 1 / every / MINUTE):
        end = begin + draw.integers(1, 3 * MINUTE + 1)
        found[begin:end] = math.log(3) * draw.uniform(0.5, 1.5)
    return found


#: {load: (level of each window, deviation of a write)}
LOADS = {
    'quiet': lambda draw, place: (0 * place, 0.1),
    'white noise': lambda draw, place: (0 * place, 0.5),
    'heavy tails': lambda draw, place: (0 * place, 0.2),
    'whole milliseconds': lambda draw, place: (0 * place, 0.4),
    'AR(1) of 0.5': lambda draw, place: (
        _wandering(draw, len(place), 0.5),
        0.5,
    ),
    'AR(1) of 0.7': lambda draw, place: (
        _wandering(draw, len(place), 0.7),
        0.5,
    ),
    'AR(1) of 0.9': lambda draw, place: (
        _wandering(draw, len(place), 0.9),
        0.4,
    ),
    'AR(1) of 0.95': lambda draw, place: (
        _wandering(draw, len(place), 0.95),
        0.4,
    ),
    'drift': lambda draw, place: (
        _wandering(draw, len(place), 0.9998, 0.4),
        0.4,
    ),
    'half-hourly job': lambda draw, place: (
        _jobs(draw, len(place), every=30, lasts=6, factor=2.2),
        0.4,
    ),
    'hourly job': lambda draw, place: (
        _jobs(draw, len(place), every=60, lasts=6, factor=3),
        0.4,
    ),
    'six-hourly job': lambda draw, place: (
        _jobs(draw, len(place), every=360, lasts=30, factor=3),
        0.4,
    ),
    'daily rhythm': lambda draw, place: (_days(draw, place), 0.4),
    'weekly rhythm': lambda draw, place: (_weeks(draw, place), 0.4),
    'bursts': lambda draw, place: (
        _bursts(draw, len(place), every=60),
        0.4,
    ),
    'bimodal': lambda draw, place: (
        math.log(2.5)
        * ((draw.random(len(place)) < 1 / (30 * MINUTE)).cumsum() % 2),
        0.4,
    ),
}
#: Loads that have no changes of their own as large as a rise.
ORDINARY = (
    'quiet',
    'white noise',
    'heavy tails',
    'AR(1) of 0.5',
    'AR(1) of 0.7',
)


def levels(load, windows, *, seed):
    """Logarithms of the medians of a tier with a load and no change."""
    draw = numpy.random.default_rng([seed, *load.encode()])
    middle, deviation = LOADS[load](draw, numpy.arange(windows))
    ios = draw.normal(0, deviation, (windows, 10))
    if load == 'heavy tails':
        ios += numpy.log1p(draw.pareto(1.5, ios.shape))
    found = middle + numpy.median(ios, axis=1)
    if load == 'whole milliseconds':
        # As `osd perf` and slow clocks have them, of 2.5 ms.
        found = numpy.log(numpy.round(2.5 * numpy.exp(found)).clip(1))
    return found


def rise(windows, *, factor, at, during):
    """What is added to levels: a step, or a ramp of so many windows."""
    place = numpy.arange(windows) - at
    share = (place + 1) / during if during else place >= 0
    return math.log(factor) * numpy.clip(share, 0, 1)


def alarms(values, *, first=1):
    """(windows that had been seen, index since when) of each rise.

    As of `judgement.added`, for which it has no time over weeks.

    :param first: so many windows are seen before it is asked
    """
    found, start, hours = [], 0, ()
    moments = BEGAN + numpy.arange(len(values)) * series.WINDOW_S
    for seen in range(first, len(values) + 1):
        begin = max(0, seen - series.MOST_WINDOWS)
        start = max(start, begin)
        if seen - start < change.LEAST_WINDOWS:
            continue
        recent = values[begin:seen]
        here = usual.unusual(
            hours,
            direction='write',
            began_at=moments[begin:seen],
            levels=recent,
            first=start - begin,
            least_percent=change.LEAST_PERCENT,
        )
        if here is not None:
            start = begin + here.index
            if here.after >= here.before:
                found.append((seen, start))
        hours = usual.noted(
            hours,
            direction='write',
            moment=moments[seen - 1],
            levels=recent,
        )
    return found


@dataclasses.dataclass(frozen=True, kw_only=True)
class Found:
    """Whether a planted rise was found."""

    #: windows until it was; None: never
    delay: int | None
    #: windows by which its beginning is off
    off: int = 0


def planted(load, *, factor, during, seed, at=DAY):
    """A rise beside a load, watched until ten minutes after its end.

    A step is watched for five minutes.
    """
    windows = at + during + (10 if during else 5) * MINUTE
    values = levels(load, windows, seed=seed)
    values = values + rise(windows, factor=factor, at=at, during=during)
    for seen, place in alarms(values):
        if seen > at:
            return Found(delay=seen - at, off=place - at)
    return Found(delay=None)


#: {cause: (its fact with a share of 0 to 1, what names it)}
CAUSES = {
    'image': (
        lambda share: {
            'image_iops': {'a': 200 + 1800 * share},
            'client_iops': 500 + 1800 * share,
        },
        'image a',
    ),
    'recovery': (lambda share: {'recovering': round(400 * share)}, 'recovery'),
    'scrubbing': (lambda share: {'scrubbing': round(30 * share)}, 'scrubbing'),
    'slow OSD': (lambda share: {'osd_ms': {'3': 1 + 40 * share}}, 'osd.3'),
    'all OSDs': (
        lambda share: {
            'osd_ms': {str(one): 10 + 20 * share for one in range(12)}
        },
        'the median of all OSDs',
    ),
    'OSD down': (
        lambda share: {'osds_up': ('0-10',) if share else ('0-11',)},
        'osd.11',
    ),
    'configuration': (
        lambda share: {'config_version': 8 if share else 7},
        'the configuration',
    ),
}


def blamed(cause, *, during, seed, at=60 * MINUTE):
    """Whether the cause of a threefold latency is named first.

    Beside it, images, scrubs, OSDs and the load vary as they do all day.

    :returns: None if the rise was not found
    """
    fact, name = CAUSES[cause]
    draw = numpy.random.default_rng([seed, *cause.encode()])
    windows = at + during + 10 * MINUTE
    shares = rise(windows, factor=math.e, at=at, during=during)
    kept = series.Series(tier='t', pools=('p',))
    for number, share in enumerate(shares):
        status = {
            'checks': (),
            'recovering': 0,
            'scrubbing': int(draw.integers(0, 3)),
            'osds_up': ('0-11',),
            'osd_ms': {},
            'client_iops': 500.0,
            'image_iops': {},
            'config_version': 7,
            **fact(float(share)),
        }
        status['client_iops'] *= draw.lognormal(0, 0.2)
        status['image_iops'] = {
            image: iops * draw.lognormal(0, 0.3)
            for image, iops in {
                'a': 200.0,
                'b': 100.0,
                'c': 20.0,
                **status['image_iops'],
            }.items()
        }
        status['osd_ms'] = {
            str(osd): round(
                status['osd_ms'].get(str(osd), 1.0) * draw.lognormal(0, 0.2)
            )
            for osd in range(12)
        }
        kept, verdict = judgement.added(
            kept,
            series.TierWindow(
                began_at=BEGAN + number * series.WINDOW_S,
                write_ms=tuple(5 * 3**share * draw.lognormal(0, 0.4, 10)),
                status=series.Status(**status),
            ),
            {},
        )
        if verdict.state is judgement.TierState.SLOWER:
            return any(name in each for each in verdict.circumstances[:1])
    return None
