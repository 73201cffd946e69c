# SPDX-License-Identifier: Apache-2.0

"""Findings of an audit as rows of a table.

Pure. A project may write what it likes into the image id of its volumes: what
is not printable is escaped, in each format. Must not know where its arguments
came from, nor how cliff prints.
"""

from cinder_tiers.cli.render import plan as render
from cinder_tiers.domain.audit import tiers as audit

COLUMNS = ('Object', 'State', 'Aspect', 'Current', 'Expected', 'Reason')


def row(finding: audit.Finding) -> render.Row:
    """A finding under COLUMNS; what to do follows the reason."""
    reason = '; '.join(filter(None, (finding.reason, finding.remedy)))
    return (
        render.printable(finding.object_name),
        finding.state.value,
        finding.aspect,
        render.Fields(finding.current),
        render.Fields(finding.expected),
        render.printable(reason),
    )
