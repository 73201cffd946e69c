# SPDX-License-Identifier: Apache-2.0

"""Facts on a run's volumes and servers that the administrator can see.

Adapter: reads Cinder and Nova, writes nothing.  An unreadable fact has no
value, but the reason.
"""

import collections
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from cinderclient import exceptions as cinder_exceptions
from keystoneauth1 import exceptions as keystone_exceptions
from novaclient import exceptions as nova_exceptions

from oslo_log import log as logging

from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.figures.result import caveats
from cinder_tiers.figures.result import result as run_result
from rally_scenarios.plugins import servers

LOG = logging.getLogger(__name__)

_ERRORS = (
    cinder_exceptions.ClientException,
    nova_exceptions.ClientException,
    keystone_exceptions.ClientException,
)
_HOST = 'os-vol-host-attr:host'
_HYPERVISOR = 'OS-EXT-SRV-ATTR:hypervisor_hostname'


def _fact(read: Callable[[], str | None], otherwise: str) -> run_result.Fact:
    """Call a reader and return its value as a fact, or the error.

    :param otherwise: reason if there is no value
    """
    try:
        value = read()
    except _ERRORS as error:
        return run_result.Fact(
            value=None, reason=str(error) or type(error).__name__
        )
    except servers.NO_ANSWER_OF_THE_API as error:
        # A fact never costs the result that it is about.
        return run_result.Fact(
            value=None,
            reason=f'{servers.NOT_THE_API} ({type(error).__name__}: {error})',
        )
    return run_result.Fact(
        value=value or None, reason='' if value else otherwise
    )


def _all(texts: Iterable[str]) -> str:
    return caveats.SEVERAL.join(sorted(set(texts)))


def qos_text(spec: Any) -> str:
    """QoS specs as text."""
    limits = ', '.join(
        f'{key} {value}' for key, value in sorted(spec.specs.items())
    )
    return f'{spec.name}, {spec.consumer}: {limits or "no limit"}'


def _qos(cinder: Any, type_names: Iterable[str | None]) -> str:
    """The QoS specs of volume types; a type without any has none."""
    specs = {spec.id: spec for spec in cinder.qos_specs.list()}
    of_types = {
        each.name: specs.get(each.qos_specs_id)
        for each in cinder.volume_types.list(is_public=None)
    }
    return _all(
        'none' if of_types.get(name) is None else qos_text(of_types[name])
        for name in type_names
    )


def read_tiers(
    cinder: Any, volumes: Mapping[str, Sequence[str]]
) -> tuple[dict[str, run_result.Fact], dict[str, run_result.Fact]]:
    """QoS specs and backends of tiers.

    :param cinder: cinderclient of the administrator
    :param volumes: {tier: ids of its volumes}
    :returns: {tier: QoS specs of its volumes' types}, {tier: host@backend#pool
        of its volumes}; several are joined by ``caveats.SEVERAL``
    """
    qos, backends = {}, {}
    for tier, ids in volumes.items():

        def seen(ids: Sequence[str] = ids) -> list[Any]:
            return [cinder.volumes.get(each) for each in ids]

        backends[tier] = _fact(
            lambda seen=seen: _all(
                filter(None, (getattr(each, _HOST, None) for each in seen()))
            ),
            'Cinder does not say where its volumes are',
        )
        qos[tier] = _fact(
            lambda seen=seen: _qos(
                cinder, {each.volume_type for each in seen()}
            ),
            'it has no volume',
        )
    return qos, backends


def read_types(
    cinder: Any, volumes: Mapping[str, Sequence[str]]
) -> dict[str, run_result.TypeAsMeasured]:
    """Volume types of tiers, with all that their figures depend on.

    :param cinder: cinderclient of the administrator
    :param volumes: {tier: ids of its volumes}
    :returns: {tier: type}, without tiers whose volumes have several types or
        none, and those of which Cinder does not show all
    """
    found = {}
    for tier, ids in volumes.items():
        try:
            names = {cinder.volumes.get(each).volume_type for each in ids}
            if len(names) == 1 and (name := names.pop()):
                found[tier] = _type_as_measured(cinder, name)
        except (
            *_ERRORS,
            *servers.NO_ANSWER_OF_THE_API,
            AttributeError,
            StopIteration,
        ) as error:
            # "tier publish" says that it is missing.
            LOG.warning(
                'The volume type of tier %s is not in the result: %s',
                tier,
                str(error) or type(error).__name__,
            )
    return found


def _type_as_measured(cinder: Any, name: str) -> run_result.TypeAsMeasured:
    volume_type = next(
        each
        for each in cinder.volume_types.list(is_public=None)
        if each.name == name
    )
    qos = next(
        (
            each
            for each in cinder.qos_specs.list()
            if each.id == volume_type.qos_specs_id
        ),
        None,
    )
    encryption = cinder.volume_encryption_types.get(volume_type.id)
    return run_result.TypeAsMeasured(
        extra_specs={
            key: value
            for key, value in volume_type.extra_specs.items()
            if not key.startswith(cinder_state.SCOPE)
        },
        qos_consumer=qos and qos.consumer,
        qos_specs=dict(qos.specs) if qos else {},
        encryption={
            field: str(value)
            for field in run_result.ENCRYPTION
            if (value := getattr(encryption, field, None)) is not None
        },
    )


def hypervisor_text(kind: str, version: int) -> str:
    """A hypervisor as Nova knows it.

    >>> hypervisor_text("QEMU", 7002022), hypervisor_text("ironic", 1)
    ('QEMU 7.2.22', 'ironic 1')

    :param version: libvirt's drivers make one number of three
    """
    if version < 1000000:
        return f'{kind} {version}'
    return (
        f'{kind} {version // 1000000}.{version // 1000 % 1000}'
        f'.{version % 1000}'
    )


def _compute(nova: Any, server_ids: Sequence[str]) -> str:
    """Describe the kinds of the servers' compute hosts, with their numbers."""
    hosts = {
        getattr(nova.servers.get(each), _HYPERVISOR, None)
        for each in server_ids
    }
    kinds = collections.Counter(
        hypervisor_text(each.hypervisor_type, each.hypervisor_version)
        for each in nova.hypervisors.list()
        if each.hypervisor_hostname in hosts
    )
    return _all(
        f'{kind} on {count} host{"s" if count > 1 else ""}'
        for kind, count in kinds.items()
    )


def _current(versions: Iterable[Any]) -> str:
    # novaclient has None where a proxy in front of Nova refuses the page.
    return _all(
        f'API {each.version}'
        for each in versions
        if each is not None and each.status == 'CURRENT'
    )


def read_cloud(
    cinder: Any, nova: Any, server_ids: Sequence[str]
) -> dict[str, run_result.Fact]:
    """Read facts of the environment.

    :param cinder: cinderclient of an administrator
    :param nova: novaclient of an administrator
    :param server_ids: ids of the servers of all guests
    """
    return {
        'cinder': _fact(
            lambda: _current(cinder.services.server_api_version()),
            'it does not report its version',
        ),
        'nova': _fact(
            lambda: _current([nova.versions.get_current()]),
            'it does not report its version',
        ),
        'compute': _fact(
            lambda: _compute(nova, server_ids),
            'Nova does not say where servers are',
        ),
    }
