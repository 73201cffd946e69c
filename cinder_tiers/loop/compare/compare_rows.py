# SPDX-License-Identifier: Apache-2.0

"""The rows of `openstack tier compare`."""

import argparse
import pathlib

from cinder_tiers.cli import base
from cinder_tiers.cli import results
from cinder_tiers.cli import results_command
from cinder_tiers.domain import errors
from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.compare import junit


_TABLE: results_command.Table = {
    'Result': lambda claim: claim.side,
    'Tier': lambda claim: (
        claim.second_tier
        if claim.first_tier == claim.second_tier
        else f'{claim.second_tier} against {claim.first_tier}'
    ),
    'Pattern': lambda claim: claim.pattern,
    'Quantity': lambda claim: claim.quantity,
    'Baseline': lambda claim: results.Amount((claim.first, claim.unit)),
    'Compared': lambda claim: results.Amount((claim.second, claim.unit)),
    'Difference': results.ClaimedChange,
    'Finding': lambda claim: claim.finding.value,
    'Reason': lambda claim: claim.reason,
}


def find(
    shown: results_command.ResultsCommand, parsed_args: argparse.Namespace
) -> results_command.Found:
    """Reads and compares; writes the file of --junit.

    :raises base.CommandFailed: a file cannot be read or written.
    :raises errors.WrongArguments: they are not for these results.
    :raises comparison.ComparisonError: the results cannot be compared.
    """
    if parsed_args.junit:
        results.keep_from_replacing(
            parsed_args.junit,
            [
                path
                for side in (
                    *parsed_args.baseline,
                    *parsed_args.results,
                    *parsed_args.history,
                )
                for path in results.files_of(side)
            ],
        )
    found, is_unknown = _compare(parsed_args)
    shown.warn(found.circumstances)
    if parsed_args.junit:
        _write(parsed_args.junit, junit.write(found))
    return results_command.Found(
        table=_TABLE,
        items=found.claims,
        said_below='Reason',
        without=()
        if any(claim.side for claim in found.claims)
        else {'Result'},
        is_worse=found.count(comparison.DifferenceFinding.WORSE) > 0,
        is_unknown=is_unknown,
    )


def _compare(
    parsed_args: argparse.Namespace,
) -> tuple[comparison.Comparison, bool]:
    """Return the comparison, and whether it fails the gate.

    The gate for tiers of one run: there is a finding for each pair, or at
    least for one; for runs: none is worse by more than the least difference.
    """
    question = comparison.Question(
        quantities=results.quantities(parsed_args, comparison.QUANTITIES),
        least_difference_percent=parsed_args.least_difference,
        wanted_difference_percent=parsed_args.wanted_difference,
    )
    baseline, sides = (
        [(each, results.files_of(each)) for each in named]
        for named in (parsed_args.baseline, parsed_args.results)
    )
    read = results.read_all(
        [path for _name, paths in [*baseline, *sides] for path in paths]
    )
    if len(sides) == 1 and not baseline and len(read) > 1:
        raise errors.WrongArguments(
            f'{parsed_args.results[0]} holds {len(read)} results: expected'
            f' two sides, or one result to compare its tiers; name another'
            f' file or folder'
        )
    if len(read) == 1 and not baseline:
        if parsed_args.history:
            raise errors.WrongArguments(
                '--history is for several results; name another one'
            )
        if parsed_args.tiers:
            raise errors.WrongArguments(
                '--tier is for several results; with one, all tiers are'
                ' compared with that of --reference'
            )
        (run,) = read.values()
        found = comparison.tiers_of_run(
            run, question, reference=parsed_args.reference
        )
        return found, found.count(
            comparison.DifferenceFinding.NOT_COMPARED
        ) > 0 or (
            found.count(comparison.DifferenceFinding.CANNOT_TELL)
            == len(found.claims)
        )
    if parsed_args.reference:
        raise errors.WrongArguments(
            '--reference is for one result; with several, name tiers that'
            ' belong together by --tier'
        )
    tiers = None
    if parsed_args.tiers:
        pairs = [each.partition('=') for each in parsed_args.tiers]
        empty = [
            ''.join(pair)
            for pair in pairs
            if not pair[0] or (pair[1] and not pair[2])
        ]
        if empty:
            raise errors.WrongArguments(
                f'--tier {", ".join(map(repr, empty))}: expected the name of a'
                f' tier, or two of them around "="'
            )
        firsts = [first for first, _, _ in pairs]
        twice = sorted({each for each in firsts if firsts.count(each) > 1})
        if twice:
            raise errors.WrongArguments(
                f'--tier names {", ".join(twice)} twice: expected each tier of'
                f' the first results once; compare it again in a command of'
                f' its own'
            )
        tiers = {first: second or first for first, _, second in pairs}
    if baseline:
        first = [path for _name, paths in baseline for path in paths]
        others = {'': [path for _name, paths in sides for path in paths]}
    else:
        (_name, first), *rest = sides
        others = dict(rest)
    history = results.read_all(
        [
            path
            for each in dict.fromkeys(parsed_args.history)
            for path in results.files_of(each)
        ]
    )
    found = comparison.runs(
        [read[path] for path in first],
        {
            name: [read[path] for path in paths]
            for name, paths in others.items()
        },
        question,
        tiers=tiers,
        history=list(history.values()),
    )
    return found, not all(
        claim.is_no_worse(question.least_difference_percent)
        for claim in found.claims
    )


def _write(path: str, text: str) -> None:
    try:
        pathlib.Path(path).write_text(text, encoding='utf-8')
    except OSError as error:
        raise base.CommandFailed(
            f'cannot write {path}: {error.strerror}; name another file'
        ) from error
