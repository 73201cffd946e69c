# SPDX-License-Identifier: Apache-2.0

"""Findings of an audit as rows of a table.

Pure. A project may write what it likes into the image id of its volumes: what
is not printable is escaped, in each format. Must not know where its arguments
came from, nor how cliff prints.
"""

from cinder_tiers.cli.render import cells
from cinder_tiers.domain.audit import tiers as audit

COLUMNS = ('Object', 'State', 'Aspect', 'Current', 'Expected', 'Reason')


def row(finding: audit.Finding) -> cells.Row:
    """A finding under COLUMNS; what to do follows the reason."""
    reason = '; '.join(filter(None, (finding.reason, finding.remedy)))
    return (
        cells.printable(finding.object_name),
        finding.state.value,
        finding.aspect,
        cells.Fields(finding.current),
        cells.Fields(finding.expected),
        cells.printable(reason),
    )
