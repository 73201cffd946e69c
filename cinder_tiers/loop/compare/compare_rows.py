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
    'First': lambda claim: results.Amount((claim.first, claim.unit)),
    'Second': lambda claim: results.Amount((claim.second, claim.unit)),
    'Difference': results.Change,
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
            parsed_args.junit, [*parsed_args.baseline, *parsed_args.results]
        )
    found = _compare(parsed_args)
    shown.warn(found.circumstances)
    if parsed_args.junit:
        _write(parsed_args.junit, junit.write(found))
    return results_command.Found(
        table=_TABLE,
        items=found.claims,
        without=()
        if any(claim.side for claim in found.claims)
        else {'Result'},
        is_worse=found.count(comparison.Finding.WORSE) > 0,
        is_unknown=found.count(comparison.Finding.NOT_COMPARED) > 0,
    )


def _compare(parsed_args: argparse.Namespace) -> comparison.Comparison:
    question = comparison.Question(
        quantities=results.quantities(parsed_args, comparison.QUANTITIES),
        least_difference_percent=parsed_args.least_difference,
        wanted_difference_percent=parsed_args.wanted_difference,
    )
    read = results.read_all([*parsed_args.baseline, *parsed_args.results])
    if len(read) == 1 and not parsed_args.baseline:
        if parsed_args.tiers:
            raise errors.WrongArguments(
                '--tier is for several results; with one, all tiers are'
                ' compared with that of --reference'
            )
        (run,) = read.values()
        return comparison.tiers_of_run(
            run, question, reference=parsed_args.reference
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
    if parsed_args.baseline:
        first = parsed_args.baseline
        others = {'': [read[path] for path in parsed_args.results]}
    else:
        first, *rest = parsed_args.results
        first = [first]
        others = {path: [read[path]] for path in rest}
    return comparison.runs(
        [read[path] for path in first], others, question, tiers=tiers
    )


def _write(path: str, text: str) -> None:
    try:
        pathlib.Path(path).write_text(text, encoding='utf-8')
    except OSError as error:
        raise base.CommandFailed(
            f'cannot write {path}: {error.strerror}; name another file'
        ) from error
