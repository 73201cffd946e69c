# SPDX-License-Identifier: Apache-2.0

"""Reference by which an SLA finds the result file of an iteration.

Rally's report has rounded figures, and its schema has no place for others.  So
an iteration's output names its result file, which has them all, with a
checksum: an SLA judges that file and no other.
"""

from collections.abc import Iterable
from collections.abc import Mapping
import hashlib
import pathlib

from cinder_tiers.domain import record
from cinder_tiers.figures.result import result as run_result
from rally_scenarios.plugins.report import tables
from rally_scenarios.plugins import servers


def output(path: pathlib.Path, run: str) -> dict:
    """Return the table that names a file, for ``add_output(complete=)``.

    :param path: path of the written file
    :param run: nonce of the run
    :raises OSError: the file cannot be read
    """
    return {
        'title': tables.RESULT_TABLE_TITLE,
        'chart_plugin': 'Table',
        'description': 'All figures, not rounded, with intervals and'
        ' histograms',
        'data': {
            'cols': list(tables.RESULT_TABLE_COLUMNS),
            'rows': [[run, str(path), _checksum(path.read_bytes())]],
        },
    }


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def result(outputs: Iterable[Mapping]) -> run_result.RunResult:
    """The result that an iteration's output names.

    :param outputs: complete outputs of the iteration
    :raises servers.FleetError: none is named, or the file is gone, is
        another one, or cannot be understood
    """
    rows = [
        row
        for each in outputs
        if each['title'] == tables.RESULT_TABLE_TITLE
        for row in each['data']['rows']
    ]
    if len(rows) != 1:
        raise servers.FleetError(
            f'its output names {len(rows)} result files, expected one'
        )
    _run, path, checksum = rows[0]
    try:
        content = pathlib.Path(path).read_bytes()
        if _checksum(content) != checksum:
            raise servers.FleetError(
                f'result file {path} is not the one that the run wrote: its'
                f' SHA-256 is {_checksum(content)}, expected {checksum}'
            )
        return run_result.read(content)
    except OSError as error:
        raise servers.FleetError(
            f'cannot read the result file {path}: {error}'
        ) from error
    except record.RecordError as error:
        raise servers.FleetError(f'result file {path}: {error}') from error
