# SPDX-License-Identifier: Apache-2.0

"""Estimate the gains of candidates, measured or not.

The logarithm of a gain is taken for the sum of one effect for each value that
differs from the tiers file, and of one of the candidate as a whole, which
holds what its values do only together, which is mostly less (Wu, Hamada,
Experiments, 2009, section 4.6: hierarchical ordering).  Effects are normal,
with mean 0 and, for each option, the variance that makes what was measured
most probable: so an option of which nothing is seen is expected to do nothing.
That is a Gaussian process with automatic relevance determination (Rasmussen,
Williams, Gaussian Processes for Machine Learning, 2006, sections 2.2, 5.1 and
5.4).

What is to be measured next is drawn as Thompson did: the best candidate of one
draw of all effects ("On the likelihood that one unknown probability exceeds
another", Biometrika 25, 1933).  What may be best is so tried in proportion.

Pure.
"""

from collections.abc import Collection
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from cinder_tiers.loop.tune import decision

#: Standard deviations that effects may have, as logarithms: for the values of
#: each option one, and for candidates as a whole one at most half as large.
#: None is 0, or a value that was not measured would never be tried.
_DEVIATIONS = (0.04, 0.08, 0.16, 0.32, 0.64)
#: How often each of them is chosen, given the others.
_ROUNDS = 2
#: Standard deviations by which the effect of a value is clear.
_LEAST_ERRORS = 2.0
#: Share of the highest expected gain that a simpler candidate may lose.
_MOST_LOST = 0.25


@dataclass(frozen=True, kw_only=True, eq=False)
class ExpectedEffects:
    """Effects of values and of whole candidates, estimated together."""

    #: of the values of each option, with that of the tiers file
    counts: tuple[int, ...]
    #: those that were measured, each once
    measured: tuple[decision.Candidate, ...]
    #: of each value but those of the tiers file, option by option, and then
    #: of each measured candidate
    means: np.ndarray
    #: between all of them
    covariances: np.ndarray

    def best(
        self, *, broken: Collection[decision.Candidate] = ()
    ) -> tuple[decision.Candidate, ...]:
        """Return the candidates to confirm; none if none should be better.

        The last one has the highest expected gain.  Before it comes the same
        candidate without the options whose effect is not clear, if these add
        less than a quarter of the gain.  Only a measurement shows whether the
        effect of the whole candidate needs them.

        :param broken: candidates that break a constraint
        """
        gains = _Gains(self, self.means)
        best = gains.best()
        if gains(best) <= 0:
            return ()
        errors = _Gains(self, np.sqrt(np.diag(self.covariances)))
        alone = [
            tuple(value * (place == at) for at in range(len(best)))
            for place, value in enumerate(best)
        ]
        unclear = [
            gains.of_values(each) <= _LEAST_ERRORS * errors.of_values(each)
            for each in alone
        ]
        lost = sum(
            gains.of_values(each)
            for each, is_unclear in zip(alone, unclear, strict=True)
            if is_unclear
        )
        simple = tuple(
            0 if is_unclear else value
            for value, is_unclear in zip(best, unclear, strict=True)
        )
        if lost > _MOST_LOST * gains(best) or decision.is_default(simple):
            simple = best
        return tuple(
            each
            for each in dict.fromkeys([simple, best])
            if each not in broken
        )

    def drawn(self, seed: int) -> decision.Candidate:
        """The best candidate of one draw of all effects.

        :param seed: the same draw for the same seed
        """
        draw = np.random.default_rng(seed)
        return _Gains(
            self,
            draw.multivariate_normal(
                self.means,
                self.covariances,
                method='eigh',
                check_valid='ignore',
            ),
        ).best()


class _Gains:
    """Gain of each candidate for given effects.

    :param about: effects with their values and candidates
    :param effects: one number for each mean of `about`
    """

    def __init__(self, about: ExpectedEffects, effects: np.ndarray) -> None:
        ends = np.cumsum([count - 1 for count in about.counts])
        self._of_options = [
            np.concatenate([[0.0], part])
            for part in np.split(effects[: ends[-1]], ends[:-1])
        ]
        self._of_candidates = dict(
            zip(about.measured, effects[ends[-1] :], strict=True)
        )

    def __call__(self, candidate: decision.Candidate) -> float:
        whole = float(self._of_candidates.get(candidate, 0.0))
        return whole + self.of_values(candidate)

    def of_values(self, candidate: decision.Candidate) -> float:
        """The gain without that of the candidate as a whole."""
        return sum(
            float(effects[value])
            for effects, value in zip(self._of_options, candidate, strict=True)
        )

    def best(self) -> decision.Candidate:
        """The one with the highest gain, measured or not."""
        together = tuple(int(each.argmax()) for each in self._of_options)
        return max([together, *self._of_candidates], key=self)


def effects(
    found: Sequence[decision.Gain],
    counts: Sequence[int],
    *,
    variation_percent: float,
) -> ExpectedEffects:
    """Estimate all effects from measurements.

    :param found: measurements, at least one
    :param counts: number of values of each option, with that of the tiers file
    :param variation_percent: noise of one measurement, more than 0; that of
        the default is in all gains of a block
    """
    gains = np.array([each.gain for each in found])
    measured = tuple(dict.fromkeys(each.candidate for each in found))
    values = _values([each.candidate for each in found], counts)
    wholes = np.array(
        [[float(each.candidate == one) for one in measured] for each in found]
    )
    blocks = np.array([each.block for each in found])
    noise = (variation_percent / 100) ** 2 * (
        np.eye(len(found)) + np.equal.outer(blocks, blocks)
    )
    kernels = [each @ each.T for each in (*values, wholes)]

    def fitted(deviations: Sequence[float]) -> tuple[float, np.ndarray]:
        """Return the log-likelihood and the Cholesky factor."""
        factor = linalg.cholesky(
            noise
            + sum(
                deviation**2 * kernel
                for deviation, kernel in zip(deviations, kernels, strict=True)
            ),
            lower=True,
        )
        white = linalg.solve_triangular(factor, gains, lower=True)
        return -white @ white / 2 - np.log(np.diag(factor)).sum(), factor

    deviations = [_DEVIATIONS[len(_DEVIATIONS) // 2]] * len(kernels)
    for _ in range(_ROUNDS):
        for place in range(len(kernels)):
            deviations = max(
                (
                    [*deviations[:place], each, *deviations[place + 1 :]]
                    for each in _DEVIATIONS
                    if place < len(counts)
                    or each <= max(deviations[:-1]) / 2
                    or each == _DEVIATIONS[0]
                ),
                key=lambda each: fitted(each)[0],
            )
    factor = fitted(deviations)[1]
    variances: np.ndarray = np.repeat(
        np.square(deviations), [each.shape[1] for each in (*values, wholes)]
    )
    known = linalg.solve_triangular(
        factor, np.hstack([*values, wholes]) * variances, lower=True
    )
    return ExpectedEffects(
        counts=tuple(counts),
        measured=measured,
        means=known.T @ linalg.solve_triangular(factor, gains, lower=True),
        covariances=np.diag(variances) - known.T @ known,
    )


def _values(
    candidates: Sequence[decision.Candidate], counts: Sequence[int]
) -> list[np.ndarray]:
    """Return for each option a row per candidate, with 1 at its value."""
    return [
        np.array(
            [
                [float(candidate[place] == each) for each in range(1, count)]
                for candidate in candidates
            ]
        )
        for place, count in enumerate(counts)
    ]
