# SPDX-License-Identifier: Apache-2.0
"""An existing volume type as the parts of a tier that Cinder keeps.

Pure. State that a catalog cannot express is left out and named in a remark.
"""

import collections
import collections.abc
import dataclasses
import re

from cinder_tiers.domain.card import description as descriptions
from cinder_tiers.domain.catalog import limits
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.export import inventory
from cinder_tiers.domain.export import values as export_texts
from cinder_tiers.domain.placement import backends
from cinder_tiers.domain.placement import tier_specs as extra_specs
from cinder_tiers.domain.resources import type_quota
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import type_succession
from cinder_tiers.domain import tags
from cinder_tiers.domain.validation import catalog as catalog_rules

#: CapabilitiesFilter also compares it with backends.
_SCOPED_BACKEND = f'capabilities:{cinder_state.BACKEND}'

Remarks = list[str]


def tier_name(type_name: str, taken: collections.abc.Container[str]) -> str:
    """Return a name for the tier of a volume type.

    >>> tier_name('Super Fast (EU)', ())
    'Super-Fast-EU'

    :param type_name: name of the type, which is kept if a tier may have it.
    :param taken: names of other tiers.
    """
    name = type_name
    if not limits.NAME.fits(name):
        name = re.sub('[^A-Za-z0-9._]+', '-', name).strip('-._')[:60] or 'tier'
    number, first = 2, name
    while name in taken:
        name, number = f'{first}-{number}', number + 1
    return name


def leaves_choice_to_image(found: cinder_state.VolumeType) -> bool:
    """Return whether a type follows the image and is not that of a tier."""
    return (
        cinder_state.FOLLOW_IMAGE in found.extra_specs
        and cinder_state.NAME not in found.extra_specs
    )


def check_follow_name(name: str) -> None:
    """Reject a name that `follow_image_types` cannot have.

    :raises ValueError: the text says why.
    """
    _check_not_superseded(name)
    if not (
        limits.TYPE_NAME.fits(name)
        and len(name) <= type_succession.MAX_CHARS
        and export_texts.is_writable(name)
    ):
        raise ValueError(
            'a name in follow_image_types has at most '
            f'{type_succession.MAX_CHARS} printable characters, and no white '
            'space at either end'
        )


def may_be_tier(found: cinder_state.VolumeType) -> bool:
    """Return whether a volume type by itself can become a tier of the file.

    Another volume type can still prevent it, such as one with nearly the same
    name.

    :param found: volume type; access to it does not matter.
    """
    try:
        _check_tier(found)
    except ValueError:
        return False
    return True


def _check_tier(found: cinder_state.VolumeType) -> None:
    """Reject a volume type that by itself cannot be a tier.

    :raises ValueError: the text says why.
    """
    _check_not_superseded(found.name)
    if found.is_half_made:
        raise ValueError(
            'an interrupted apply made it and has not opened it; apply the '
            'tiers file that declares it again'
        )
    if leaves_choice_to_image(found):
        raise ValueError('it leaves the choice of the tier to the image')
    if found.name == cinder_state.DEFAULT_TYPE:
        raise ValueError(
            "it is Cinder's own default type; to let the image select the "
            'tier, create another type with follow_image_types and set it as '
            'default_volume_type'
        )
    if not (
        limits.TYPE_NAME.fits(found.name)
        and len(found.name) <= type_succession.MAX_CHARS
        and export_texts.is_writable(found.name)
    ):
        raise ValueError(
            'the volume type of a tier has a name of at most '
            f'{type_succession.MAX_CHARS} printable characters, without white '
            'space at its ends'
        )
    if _backend(found) is None and not backends.selects_backends(
        _extra_specs(found, [])
    ):
        raise ValueError(
            'it names no backend, and has no extra spec that selects one'
        )


def _check_not_superseded(name: str) -> None:
    owner = type_succession.owner_of(name)
    if type_succession.successor_of(name) is not None:
        raise ValueError(
            f'it is retired: type {owner} replaced it, and its volumes '
            'keep it until they are retyped'
        )
    if owner != name:
        raise ValueError(
            f'an interrupted apply created it, to replace type {owner}'
        )


def tier_of(
    found: cinder_state.VolumeType,
    known: inventory.Inventory,
    *,
    is_ours: bool,
    taken: collections.abc.Container[str] = (),
) -> tuple[catalogs.Tier, Remarks]:
    """Return a volume type as a tier without `rbd`, and remarks.

    :param known: all existing state.
    :param is_ours: whether it has the ownership marker of a tier.
    :param taken: names of other tiers.
    :raises ValueError: the type cannot be a tier; the text says why.
    """
    _check_tier(found)
    remarks: Remarks = []
    marked = found.extra_specs.get(cinder_state.NAME) if is_ours else None
    name = tier_name(
        marked if marked and limits.NAME.fits(marked) else found.name, taken
    )
    tier = catalogs.Tier(
        name=name,
        volume_type_name=None if name == found.name else found.name,
        take_over=is_ours,
        backend_name=_backend(found),
        extra_specs=_extra_specs(found, remarks),
        description=_description(found, remarks),
        expect=(
            descriptions.read(found.description).promise if is_ours else {}
        ),
        access=_access(found, known, remarks),
        default_for=_default_for(found, known, remarks),
        qos=_qos(name, found.name, known.cinder, remarks),
        quotas=_quotas(found.name, known.cinder, remarks),
        encryption=_encryption(found.name, known.cinder, remarks),
    )
    return _marked(tier, found, remarks) if is_ours else tier, remarks


def _backend(found: cinder_state.VolumeType) -> str | None:
    """Return the own backend that a type names.

    :raises ValueError: the type names backends in a way that no tier can.
    """
    text = found.extra_specs.get(
        cinder_state.BACKEND, found.extra_specs.get(_SCOPED_BACKEND)
    )
    if text is None:
        return None
    words = text.split()
    if (
        cinder_state.OVERFLOW in found.extra_specs
        and len(words) == 4
        and (words[0::2] == [cinder_state.OR, cinder_state.OR])
    ):
        text = words[1]
    if not limits.BACKEND.fits(text):
        raise ValueError(
            f'its {cinder_state.BACKEND} is {text!r}, but a tier names '
            'exactly one backend'
        )
    return text


def _extra_specs(
    found: cinder_state.VolumeType, remarks: Remarks
) -> dict[str, str]:
    """Return the extra specs that are not managed and name no backend."""
    specs = {}
    spellings = collections.Counter(
        map(cinder_state.as_databases_compare, found.extra_specs)
    )
    for key, value in sorted(found.extra_specs.items()):
        folded = cinder_state.as_databases_compare(key)
        if key.startswith(cinder_state.SCOPE) or key in (
            cinder_state.BACKEND,
            _SCOPED_BACKEND,
        ):
            continue
        if folded == cinder_state.BACKEND or (
            spellings[folded] > 1 and folded.startswith(cinder_state.SCOPE)
        ):
            remarks.append(
                f'the extra spec {key}={value} is left out: to some databases '
                f'it is {folded}, of which it is another spelling; apply '
                'removes it from a type that it manages'
            )
            continue
        if (
            folded.startswith(cinder_state.SCOPE)
            # Which spelling applies is unknown.
            or spellings[folded] > 1
            or not limits.EXTRA_SPEC_KEY.fits(key)
            or folded.removeprefix('capabilities:') == cinder_state.BACKEND
            or not isinstance(value, str)
            or not limits.EXTRA_SPEC.fits(value)
            or not export_texts.is_writable(value)
        ):
            remarks.append(
                f'the extra spec {key}={value} is left out: a tiers file '
                'cannot declare it; it stays as it is'
            )
            continue
        specs[key] = value
    return specs


def _description(
    found: cinder_state.VolumeType, remarks: Remarks
) -> str | None:
    # The promise is a setting of its own, and figures belong to no tiers file.
    text = descriptions.purpose(found.description)
    if not text:
        return None
    if not limits.DESCRIPTION.fits(text):
        remarks.append(
            f'the description is left out: expected '
            f'{limits.DESCRIPTION.expected}; it stays as it is'
        )
        return None
    return text


def _access(
    found: cinder_state.VolumeType,
    known: inventory.Inventory,
    remarks: Remarks,
) -> tuple[str, ...] | None:
    if found.is_public:
        return None
    projects = []
    for project in sorted(found.projects):
        if not limits.PROJECT.fits(project):
            remarks.append(
                f'project {project} is left out of access: this is not a '
                'project ID'
            )
            continue
        if known.projects.get(project) is None:
            remarks.append(
                f'project {project} has access, but Keystone does not '
                'have such a project'
            )
        projects.append(project)
    return tuple(projects)


def _default_for(
    found: cinder_state.VolumeType,
    known: inventory.Inventory,
    remarks: Remarks,
) -> tuple[str, ...] | None:
    defaults = known.cinder.project_defaults.get(found.name)
    if defaults is None:
        return None
    projects = []
    for project in sorted(defaults.default_for):
        if (
            not limits.PROJECT.fits(project)
            or known.projects.get(project) is None
        ):
            remarks.append(
                f'project {project}, whose default type it is, is left out '
                'of default_for: Keystone does not have such a project; '
                '"cinder default-type-unset" removes what is left of it'
            )
        elif not found.is_public and project not in found.projects:
            remarks.append(
                f'project {project}, whose default type it is, is left out '
                'of default_for: it has no access to the type'
            )
        else:
            projects.append(project)
    return tuple(projects) or None


def _qos(
    tier: str, name: str, cinder: cinder_state.CinderState, remarks: Remarks
) -> catalogs.Qos | None:
    """Return the limits of a type if its QoS spec is like a managed one."""
    for spec in sorted(cinder.qos_specs.values(), key=lambda one: one.name):
        if name not in spec.volume_types:
            continue
        specs = dict(sorted(spec.specs.items()))
        text = ', '.join(f'{key}={value}' for key, value in specs.items())
        what = f'its QoS spec {spec.name} ({spec.consumer}: {text})'
        if spec.volume_types != {name}:
            remarks.append(
                f'{what} is not managed, because other volume types have it '
                'as well; it stays as it is'
            )
            return None
        qos = catalogs.Qos(
            name=None if spec.name == f'tier-{tier}' else spec.name,
            front_end=specs if spec.consumer != 'back-end' else None,
            back_end=specs if spec.consumer != 'front-end' else None,
        )
        alone = catalogs.Catalog(
            clusters={},
            tiers=(catalogs.Tier(name=tier, backend_name='any', qos=qos),),
            without_fallback=True,
        )
        why = (
            ['it limits nothing']
            if not specs
            else ['its name cannot be written']
            if not limits.QOS_NAME.fits(spec.name)
            or not export_texts.is_writable(spec.name)
            else [
                f'{key}={value} cannot be written'
                for key, value in specs.items()
                if not _is_limit(key, value)
            ]
            or [
                f'{one.found}, but {one.expected} is needed'
                for one in catalog_rules.check(alone)
            ]
        )
        if why:
            remarks.append(
                f'{what} is left out: {"; ".join(why)}; it stays as it is'
            )
            return None
        return qos
    return None


def _is_limit(key: str, value: object) -> bool:
    return (
        limits.QOS_KEY.fits(key)
        and isinstance(value, str)
        and limits.QOS_LIMIT.fits(value)
        and export_texts.is_writable(value)
    )


def _quotas(
    name: str, cinder: cinder_state.CinderState, remarks: Remarks
) -> catalogs.Quotas | None:
    quota = cinder.quotas.get(name)
    if quota is None or quota == cinder_state.TypeQuota(name=name):
        return None
    found = (quota.volumes, quota.size_gib, quota.snapshots)
    if not type_quota.may_have_quota(name) or not all(
        one in limits.QUOTA for one in found
    ):
        remarks.append(
            f'its default quotas {found} are left out: a tiers file '
            'cannot declare them; they stay as they are'
        )
        return None
    return catalogs.Quotas(
        volumes=quota.volumes,
        size_gib=quota.size_gib,
        snapshots=quota.snapshots,
    )


def _encryption(
    name: str, cinder: cinder_state.CinderState, remarks: Remarks
) -> catalogs.Encryption | None:
    found = cinder.encryptions.get(name)
    if found is None:
        return None
    if (
        not limits.ENCRYPTION_PROVIDER.fits(found.provider)
        or (found.cipher and not limits.CIPHER.fits(found.cipher))
        or not (
            found.key_size_bits is None
            or found.key_size_bits in limits.KEY_SIZE_BITS
        )
        or found.control_location not in limits.CONTROL_LOCATIONS
    ):
        remarks.append(
            'its encryption is left out: a tiers file cannot declare its '
            'provider, cipher or key size; it stays as it is'
        )
        return None
    return catalogs.Encryption(
        provider=found.provider,
        cipher=found.cipher or None,
        key_size_bits=found.key_size_bits,
        control_location=found.control_location,
    )


def _marked(
    tier: catalogs.Tier, found: cinder_state.VolumeType, remarks: Remarks
) -> catalogs.Tier:
    """Return a tier with the fields in extra specs of this project."""
    specs = {
        key: value if isinstance(value, str) else ''
        for key, value in found.extra_specs.items()
    }
    name = specs[cinder_state.NAME] or found.name
    try:
        marked = extra_specs.applied_tier(name, specs, projects=None)
    except ValueError as error:
        remarks.append(f'{error}; written as 0')
        marked = extra_specs.applied_tier(
            name, {**specs, cinder_state.PRIORITY: '0'}, projects=None
        )
    usable = tuple(
        tag
        for tag in sorted(marked.tags)
        if tag.isprintable()
        and limits.TAG.fits(tag)
        and tags.normalize_tag(tag) == tag
    )
    while len(tags.format_tags(frozenset(usable))) > (
        catalog_rules.EXTRA_SPEC_MAX_CHARS
    ):
        usable = usable[:-1]
    for tag in sorted(marked.tags.difference(usable)):
        remarks.append(
            f'the tag {tag} is left out: a tiers file cannot declare it'
        )
    priority = marked.priority if usable else 0
    if priority not in limits.PRIORITY:
        remarks.append(
            f'its priority {priority} is out of range; written as 0'
        )
        priority = 0
    return dataclasses.replace(
        tier,
        tags=usable,
        priority=priority,
        fallback=marked.fallback,
        overflow=marked.overflow,
    )
