# SPDX-License-Identifier: Apache-2.0

"""Exit statuses of the tier commands, for scripts.

Each has one meaning in all commands. argparse and cliff exit with 2 for a
wrong argument and for a command that is not installed, so 2 means nothing else
here. Arguments that contradict each other also have it.
"""

from cinder_tiers.domain import errors

#: Done; the cloud is as it should be.
OK = 0
#: An error that has no status of its own, such as an invalid file.
ERROR = 1
#: A wrong argument, or an unknown command.
USAGE = 2
#: Something could not be determined, and nothing is worse.
UNKNOWN = 3
#: The cloud is not as it should be: changes, drift, a misplaced volume.
DIFFERENT = 4
#: A change is refused; nothing was done, or, by a repair, all else.
REFUSED = 5
#: A service did not answer.
UNREACHABLE = 6
#: Stopped by Ctrl-C, as a shell shows it (128 and SIGINT).
INTERRUPTED = 130


def of(error: BaseException | None) -> int:
    """Return the exit status for the error that ended a command.

    >>> of(errors.Unreachable('Cinder did not answer'))
    6
    """
    if isinstance(error, errors.WrongArguments):
        return USAGE
    if isinstance(error, errors.NotVisible):
        return ERROR
    if isinstance(error, errors.Unreachable):
        return UNREACHABLE
    if isinstance(error, errors.Refused):
        return REFUSED
    if isinstance(error, errors.NotAsBefore):
        return DIFFERENT
    return ERROR
