# SPDX-License-Identifier: Apache-2.0

"""One example of the property: a world, an image, a fault, and steps."""

import dataclasses

from hypothesis import strategies

from tests.unit.invariants import invariant
from tests.unit.invariants import operations
from tests.unit.invariants import play as plays
from tests.unit.invariants import world as worlds

FAULTS = (
    'glance-500',
    'glance-404',
    'glance-hang',
    'breaker',
    'tiers-once',
    'tiers',
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Example:
    """What is tried."""

    world: worlds.World = worlds.World()
    #: Whether the project that asks may use the private tiers.
    is_entitled: bool = False
    image: operations.Image | None = None
    fault: str = 'none'
    steps: tuple = (operations.Create(),)

    @property
    def project(self):
        return worlds.ENTITLED if self.is_entitled else worlds.OTHER

    def __repr__(self):
        return f'Example({", ".join(_differences(self))})'


def _differences(value):
    """What of a value is not as it usually is, in words of Python."""
    for field in dataclasses.fields(value):
        found = getattr(value, field.name)
        if found == field.default:
            continue
        if dataclasses.is_dataclass(found):
            text = _text(found)
        elif field.name == 'steps':
            text = f'({", ".join(map(_text, found))},)'
        else:
            text = repr(found)
        yield f'{field.name}={text}'


def _text(value):
    return f'{type(value).__name__}({", ".join(_differences(value))})'


EXAMPLES = strategies.builds(
    Example,
    world=worlds.WORLDS,
    is_entitled=strategies.booleans(),
    image=operations.IMAGES | operations.IMAGES | strategies.none(),
    fault=strategies.just('none') | strategies.sampled_from(('none', *FAULTS)),
    steps=operations.STEPS,
)


def problems_of(cloud, example):
    """What is wrong when an example has been played.

    :param cloud: Cloud
    :param example: Example
    :returns: list of sentences, each of which begins with its invariant
    """
    cloud.become(example.world)
    if not example.fault.startswith('tiers'):
        cloud.learn_zones()  # and with them the tiers
    play = plays.Play(cloud, example.project, example.image)
    if example.image is not None:
        play.image_ref()
    if example.fault == 'breaker':
        _open_breaker(cloud, play)
    else:
        cloud.break_down(example.fault)
    found, first = [], None
    try:
        judge = invariant.Judge(play, example)
        for step in example.steps:
            project = play.project
            answer = step.perform(play)
            first = first or _outcome(cloud, play, answer)
            found += judge.problems(step, project)
        found += [f'a service failed: {text}' for text in cloud.bus.failures]
    finally:
        cloud.repair()
    if (
        isinstance(example.steps[0], operations.Create)
        and (example.fault == 'none')
        and first != 'available'
    ):
        found += _failed(cloud, example, first)
    return found


def _open_breaker(cloud, play):
    """Glance fails once, which the doors do not forget for a while."""
    cloud.conf.config(
        group='cinder_tiers', glance_failures=1, glance_retry_seconds=1000
    )
    cloud.break_down('glance-500')
    image = cloud.glance.add_image(owner=play.project)
    play.cloud.request(
        'volumes',
        {
            'volume': {
                'size': 1,
                'imageRef': image,
                'volume_type': 'image-tier',
            }
        },
        project=play.project,
    )
    cloud.repair()


def _outcome(cloud, play, answer):
    """What came of a create: a status of HTTP, or of the volume."""
    if answer is None or answer[0] >= 400:
        return str(answer and answer[0])
    return cloud.volumes()[play.current].status


def _failed(cloud, example, ours):
    """I4: what Cinder alone serves, and we do not."""
    step, project = example.steps[0], example.project
    types = {one.name: one for one in example.world.types()}
    if invariant.is_excused(example, project, step, types):
        return []
    cloud.become(example.world, has_doors=False)
    play = plays.Play(cloud, project, example.image)
    theirs = _outcome(cloud, play, step.perform(play))
    return (
        []
        if theirs != 'available'
        else [f'I4 Create: {ours}, by Cinder alone {theirs}']
    )
