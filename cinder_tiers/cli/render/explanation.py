# SPDX-License-Identifier: Apache-2.0

"""Explanation of a placement as the fields of one object.

Pure. Tenants type the names of images, volumes and types, tags and more, so
characters that are not printable are escaped in each format. Must not know
where its arguments came from, nor how cliff prints.
"""

import dataclasses

from cinder_tiers.cli.render import cells
from cinder_tiers.domain.explain import explanation
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.domain.placement import decision


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shown:
    """An explanation and its subject."""

    explained: explanation.Explanation
    #: Id of the project of the volume.
    project: str
    image: facts.KnownImage | None = None
    #: Set for an existing volume.
    volume: facts.KnownVolume | None = None
    requested_type: facts.KnownType | None = None
    hidden: tuple[facts.Hidden, ...] = ()
    policy: decision.Policy = decision.Policy()
    #: Paths from which the policy was read; empty if the defaults are assumed.
    config_files: tuple[str, ...] = ()


def explanation_fields(
    shown: Shown,
) -> tuple[tuple[str, ...], tuple[object, ...]]:
    """Return the names of the fields and their values."""
    explained = shown.explained
    fields = {
        'outcome': explained.outcome.value,
        'summary': cells.Sentence(explained.summary),
        'tier': _optional(explained.tier),
        'overflow': _optional(explained.overflow),
        'volume_type': _optional(explained.volume_type),
    }
    if shown.volume is not None:
        fields['volume'] = cells.PresentFields(
            {
                'id': shown.volume.volume_id,
                'name': shown.volume.name,
                'status': shown.volume.status,
                'host': explained.host,
            }
        )
    fields |= {
        'image': cells.PresentFields(_image(shown.image, shown))
        if shown.image
        else None,
        'project': cells.printable(shown.project),
        'reasons': cells.Lines(
            [(str(reason), _reason(reason)) for reason in explained.reasons]
        ),
        'alternatives': cells.Lines(
            [
                (f'{one.tier}: {one.why}', dataclasses.asdict(one))
                for one in explained.alternatives
            ]
        ),
        'backends': cells.Lines(
            [_backend(one) for one in explained.judged or ()]
        ),
        'policy': cells.PresentFields(_policy(shown)),
        'hidden': cells.Lines(
            [
                (f'{one.what} (policy {one.policy})', dataclasses.asdict(one))
                for one in shown.hidden
            ]
        ),
        'notes': cells.Lines([(note, note) for note in explained.notes]),
    }
    return tuple(fields), tuple(fields.values())


def _optional(text: str | None) -> str | None:
    return text and cells.printable(text)


def _image(known: facts.KnownImage, shown: Shown) -> dict[str, object]:
    image = known.image
    return {
        'id': known.image_id,
        'name': known.name,
        'visibility': image.visibility,
        'owner': image.owner,
        'tags': sorted(image.tags),
        'tags_count': image.is_trusted_by(
            shown.project, shown.policy.tag_trust
        ),
        'cinder_img_volume_type': known.type_ref,
    }


def _reason(reason: decision.Reason) -> dict[str, object]:
    return {
        'rule': reason.rule.name.lower(),
        **reason.values,
        'text': str(reason),
    }


def _backend(
    one: explanation.JudgedBackend,
) -> tuple[str, dict[str, object]]:
    capabilities = one.backend.capabilities
    # Cinder writes GiB as gb.
    free_gib = capabilities.get('free_capacity_gb')
    total_gib = capabilities.get('total_capacity_gb')
    line = f'{one.backend.name}: {one.verdict.value}'
    if one.verdict is not explanation.BackendVerdict.NO:
        line += f', {free_gib} of {total_gib} GiB free'
    if one.why:
        line += f', {one.why}'
    return line, {
        'name': one.backend.name,
        'verdict': one.verdict.value,
        'why': one.why,
        'free_gib': free_gib,
        'total_gib': total_gib,
    }


def _policy(shown: Shown) -> dict[str, object]:
    return {
        'trust_tags_of': shown.policy.tag_trust.value,
        'on_no_access': shown.policy.on_no_access.value,
        'metadata_key': shown.policy.metadata_key,
        'metadata_with_image': shown.policy.metadata_with_image,
        'project_type': shown.policy.project_type.value,
        'read_from': ', '.join(shown.config_files)
        or ('none: the defaults are assumed, see --config-file'),
    }
