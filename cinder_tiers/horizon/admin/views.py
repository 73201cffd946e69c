# SPDX-License-Identifier: Apache-2.0

"""The administrator's page: tiers, their volumes, and why one is there."""

import dataclasses

from horizon import views
import openstack.connection

from cinder_tiers.domain.explain import existing_volume
from cinder_tiers.domain.explain import explanation
from cinder_tiers.domain.placement import decision
from cinder_tiers.domain import text
from cinder_tiers.horizon.admin import audited
from cinder_tiers.horizon import problems
from cinder_tiers.horizon import session
from cinder_tiers.observe import visible_cloud

#: Horizon has no cinder.conf: the defaults of the options of the doors.
_POLICY = decision.Policy(is_known=False)
#: Characters of the id or the name of a volume.
_MOST_CHARS = 255


@dataclasses.dataclass(frozen=True, kw_only=True)
class _ExplanationPart:
    """A part of an explanation: a title, and lines made harmless."""

    title: str
    lines: list[str]


class IndexView(views.HorizonTemplateView):
    """The tiers with their newest volumes, or the explanation of a volume."""

    template_name = 'admin/storage_tiers/index.html'
    page_title = 'Storage Tiers'

    def get_context_data(self, **kwargs: object) -> dict[str, object]:
        """Return the context of the template, with the problems met."""
        context = super().get_context_data(**kwargs)
        told: list[str] = []
        asked = self.request.GET.get('volume', '').strip()[:_MOST_CHARS]
        context |= {'problems': told, 'volume': text.printable(asked)}
        with (
            problems.told(told),
            session.connect(self.request) as connection,
        ):
            if asked:
                context['parts'] = _explained(connection, asked)
            else:
                context['audited'] = audited.audited(connection, _POLICY)
        return context


def _explained(
    connection: openstack.connection.Connection, ref: str
) -> list[_ExplanationPart]:
    seen = visible_cloud.observe_volume(connection, ref)
    explained = existing_volume.explain_volume(
        volume=seen.volume, image=seen.image, known=seen.known, policy=_POLICY
    )
    parts = {
        'Outcome': [f'{explained.outcome.value}: {explained.summary}'],
        'Volume': _present(
            seen.volume.volume_id, seen.volume.name, seen.volume.status
        ),
        'Project': [seen.volume.project],
        'Tier': _present(explained.tier),
        'Overflow': _present(explained.overflow),
        'Volume type': _present(explained.volume_type),
        'Backend': _present(explained.host),
        'Image': _present(
            *((seen.image.image_id, seen.image.name) if seen.image else ())
        ),
        'Reasons': [*map(str, explained.reasons)],
        'Other tiers': [
            f'{one.tier}: {one.why}' for one in explained.alternatives
        ],
        'Backends': [*map(_backend, explained.judged or ())],
        'Hidden from you': [
            f'{one.what} (policy {one.policy})' for one in seen.known.hidden
        ],
        'Notes': [*explained.notes],
    }
    return [
        _ExplanationPart(
            title=title,
            lines=[text.clipped(text.printable(line)) for line in lines],
        )
        for title, lines in parts.items()
        if lines
    ]


def _present(*texts: str | None) -> list[str]:
    return [each for each in texts if each]


def _backend(one: explanation.JudgedBackend) -> str:
    why = f', {one.why}' if one.why else ''
    return f'{one.backend.name}: {one.verdict.value}{why}'
