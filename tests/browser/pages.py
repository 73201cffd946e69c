# SPDX-License-Identifier: Apache-2.0

"""Pages that are looked at in a browser."""

import json

from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.report import content as report_content
from cinder_tiers.loop.report import html
from tests.unit.loop.report import runs

INJECTED = (
    '"><script>document.title="run"</script><img src=x onerror=alert(1)>'
)


def hostile_page():
    """A page whose tiers have names that would be markup."""
    plain = json.loads(
        run_result.write(runs.run(tiers=('a', 'b'), patterns=2, repeats=3))
    )
    plain['tiers'][0]['tier'] = INJECTED
    plain['environment']['fio']['value'] = INJECTED
    plain['doubts'] = [{'about': INJECTED, 'text': INJECTED}]
    result = run_result.read(json.dumps(plain))
    return html.page(
        report_content.report({INJECTED: result}, comparison.Question())
    )
