# SPDX-License-Identifier: Apache-2.0

"""Tells on stderr what the actions of a plan do to data and to room."""

import collections.abc
import logging

from cinder_tiers.domain.plan import effects
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain import text as escaping


def tell(
    log: logging.Logger,
    planned: collections.abc.Iterable[actions.Action],
    found: collections.abc.Mapping[actions.Key, effects.Effect],
) -> None:
    """One line for each action that has an effect.

    An error when the action is refused, or when volumes would stop being
    served; else a warning.

    :param log: of the command.
    :param planned: of one plan.
    :param found: the effect of each action.
    """
    for action in planned:
        effect = found[action.key]
        if not str(effect):
            continue
        loud = action.refusal or effect.problems
        log.log(
            logging.ERROR if loud else logging.WARNING,
            '%s',
            escaping.printable(
                f'effect of {action.verb} {action.key}, estimated: {effect}'
            ),
        )
