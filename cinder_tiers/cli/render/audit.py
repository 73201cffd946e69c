# SPDX-License-Identifier: Apache-2.0

"""Findings of an audit as rows of a table.

Pure. A project can write any text as the image id of its volumes, so
characters that are not printable are escaped in each format. Must not know
where its arguments came from, nor how cliff prints.
"""

from cinder_tiers.cli.render import cells
from cinder_tiers.domain.audit import tiers as audit

COLUMNS = ('Object', 'State', 'Aspect', 'Current', 'Expected', 'Reason')


def row(finding: audit.Finding) -> cells.Row:
    """Return the cells of a finding under COLUMNS.

    The remedy follows the reason in one cell.
    """
    reason = '; '.join(filter(None, (finding.reason, finding.remedy)))
    return (
        cells.printable(finding.object_name),
        finding.state.value,
        finding.aspect,
        cells.Fields(finding.current),
        cells.Fields(finding.expected),
        cells.printable(reason),
    )
