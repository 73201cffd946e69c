# SPDX-License-Identifier: Apache-2.0

"""The tiers file of an export: the catalog, and its remarks as comments.

Must not know how it was exported, nor where the text goes.
"""

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.export import catalog as export
from cinder_tiers.domain.export import inventory as inventories
from cinder_tiers.files.tiers import writer

_HEADER = (
    'yaml-language-server: $schema=tiers.schema.json',
    '',
    'What exists in Cinder and Ceph, written by "openstack tier export".',
    '',
    (
        'A tier with "take_over: false" is a volume type that is not '
        'managed: cinder-tiers does not change it, and image tags do not '
        'select it. To take it over, remove that line, add tags and a '
        'priority, or "fallback: true", and check "openstack tier plan" '
        'first: it shows what to name with --allow.'
    ),
)
_NO_UUID = (
    'secret_uuid is not known: it is the UUID of the libvirt secret that '
    "holds the key of cinder_user on Nova's compute hosts; see "
    'rbd_secret_uuid in cinder.conf'
)
_NO_FALLBACK = (
    'no managed tier is the fallback: untagged images and blank volumes '
    'are left to Cinder'
)


def text_of(exported: export.Exported, known: inventories.Inventory) -> str:
    """Return the text of a tiers file with all remarks.

    :param known: input of the export.
    """
    comments: dict[catalogs.Path, list[str]] = {(): list(_HEADER)}
    for remark in exported.remarks:
        path = ('tiers', remark.tier) if remark.tier else ('tiers',)
        comments.setdefault(path, []).append(remark.text)
    for text in exported.leftover:
        comments.setdefault(('tiers',), []).append(
            f'"openstack tier plan" would change something: {text}'
        )
    if exported.catalog.without_fallback:
        comments[('fallback',)] = [_NO_FALLBACK]
    for cluster in exported.catalog.clusters.values():
        if cluster.secret_uuid is None:
            comments[('clusters', cluster.name)] = [_NO_UUID]
    return writer.write(
        exported.catalog,
        comments=comments,
        project_names={
            ident: name
            for ident, name in known.projects.items()
            if name is not None
        },
    )
