# SPDX-License-Identifier: Apache-2.0

"""Probabilities and quantiles of the distributions that claims rest on.

``scipy.stats`` has all of them, and takes a second to import.

Must not know what the values are of.
"""

from scipy import special

# Of the studentized range of 5 means, what 1 % exceed, by the freedom of the
# estimate of the noise: each from 2 to 20, then each tenth to 200.
_RANGES_OF_FIVE = """
    24.7171862013 13.3243093873 9.95829188661 8.42149057775 7.55603943684
    7.00499256292 6.62481332467 6.34729941728 6.1360933134 5.97011001378
    5.83630836606 5.7262018195 5.63403579629 5.55577334166 5.48850045768
    5.43006197644 5.37883021004 5.33355321963 5.29325251924 5.0476051319
    4.93077753212 4.86252785361 4.81778169546 4.78618439896 4.76268378787
    4.74452169409 4.73006481646 4.71828439262 4.70850021372 4.70024454679
    4.69318518647 4.68707968646 4.68174696421 4.67704904298 4.67287894651
    4.66915245589 4.66580236387
"""
_RANGE_OF_FIVE = dict(
    zip(
        [*range(2, 21), *range(30, 201, 10)],
        map(float, _RANGES_OF_FIVE.split()),
        strict=True,
    )
)


def student_quantile(freedom: float, below: float) -> float:
    """The value of Student's t that a share of the distribution is below.

    :param freedom: may be infinite
    :param below: the share
    """
    return float(special.stdtrit(freedom, below))


def student_above(freedom: float, value: float) -> float:
    """Return the probability that Student's t is above a value.

    :param freedom: degrees of freedom; may be infinite
    """
    return float(special.stdtr(freedom, -value))


def noncentral_below(freedom: float, distance: float, value: float) -> float:
    """Return the probability that the noncentral t is below a value.

    :param distance: noncentrality
    :returns: not finite where the tail is beyond a double
    """
    return float(special.nctdtr(freedom, distance, value))


def noncentral_above(freedom: float, distance: float, value: float) -> float:
    """Return the probability that the noncentral t is above a value.

    :param distance: noncentrality
    :returns: not finite where the tail is beyond a double
    """
    return float(special.nctdtr(freedom, -distance, -value))


def chi_squared_quantile(freedom: float, below: float) -> float:
    """The value of chi squared that a share of the distribution is below."""
    return 2 * float(special.gammaincinv(freedom / 2, below))


def binomial_at_least(least: int, tries: int, chance: float) -> float:
    """Return the probability that enough of independent tries succeed.

    :param least: required successes, at most the tries
    """
    if least <= 0:
        return 1.0
    return float(special.bdtrc(least - 1, tries, chance))


def binomial_chance_above(successes: int, tries: int, below: float) -> float:
    """The lower bound of the chance of independent tries.

    That of Clopper and Pearson (Biometrika 26, 1934): with a lower chance,
    so many successes are rarer than `below`.

    :param successes: from 1 to the tries
    """
    return float(special.betaincinv(successes, tries - successes + 1, below))


def range_of_five(freedom: float) -> float:
    """Return the studentized range that 1 % of 5 means exceed.

    :param freedom: degrees of freedom of the estimate of the noise, at least
        2; above 20 that of the tenth below, which hardly differs, and above
        200 that of 200
    """
    whole = int(freedom)
    return _RANGE_OF_FIVE[whole if whole <= 20 else min(whole // 10 * 10, 200)]
