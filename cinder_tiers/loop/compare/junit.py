# SPDX-License-Identifier: Apache-2.0

"""A comparison as JUnit XML, which every CI shows.

Pure.  One test case for each claim: a worse one is a failure, one that was not
compared is an error, and one that cannot tell is skipped.  Format:
the schema of the Jenkins xUnit plugin, junit-10.xsd.
"""

import re
from xml.etree import ElementTree

from cinder_tiers.domain import text as escaping
from cinder_tiers.loop.compare import comparison

# What XML 1.0 cannot hold, not even as a reference (section 2.2).
_NOT_IN_XML = re.compile(
    '[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]'
)
_ELEMENTS = {
    comparison.DifferenceFinding.WORSE: 'failure',
    comparison.DifferenceFinding.NOT_COMPARED: 'error',
    comparison.DifferenceFinding.CANNOT_TELL: 'skipped',
}


def _text(value: str) -> str:
    """Untrusted text of a result file, escaped for the page of a CI."""
    return _NOT_IN_XML.sub(
        '\N{REPLACEMENT CHARACTER}', escaping.printable(value)
    )


def write(found: comparison.Comparison) -> str:
    """The text of the file."""
    suite = ElementTree.Element(
        'testsuite',
        name='openstack tier compare',
        tests=str(len(found.claims)),
        failures=str(found.count(comparison.DifferenceFinding.WORSE)),
        errors=str(found.count(comparison.DifferenceFinding.NOT_COMPARED)),
        skipped=str(found.count(comparison.DifferenceFinding.CANNOT_TELL)),
        time='0',
    )
    for claim in found.claims:
        tiers = claim.first_tier
        if claim.second_tier != tiers:
            tiers = f'{claim.second_tier} against {tiers}'
        if claim.side:
            tiers = f'{claim.side}: {tiers}'
        case = ElementTree.SubElement(
            suite,
            'testcase',
            classname=_text(f'{tiers}: {claim.pattern}'),
            name=claim.quantity,
            time='0',
        )
        words = claim.sentence
        if claim.finding in _ELEMENTS:
            ElementTree.SubElement(
                case, _ELEMENTS[claim.finding], message=_text(words)
            )
        else:
            ElementTree.SubElement(case, 'system-out').text = _text(words)
    ElementTree.SubElement(suite, 'system-out').text = '\n'.join(
        map(_text, found.circumstances)
    )
    ElementTree.indent(suite)
    return ElementTree.tostring(
        suite, encoding='unicode', xml_declaration=True
    )
