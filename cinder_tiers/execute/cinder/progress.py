# SPDX-License-Identifier: Apache-2.0

"""Failures of writes to Cinder or Glance, with the changes made so far."""

from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.domain import errors
from cinder_tiers.domain.state import action as actions


def failure(
    key: actions.Key,
    error: Exception,
    done: list[str],
    *,
    refused: str | None = None,
    service: str = 'Cinder',
) -> errors.ActionFailed:
    """Return the failure of an action whose request was not carried out.

    :param key: key of the object that was written.
    :param error: one of openstack_client.API_ERRORS.
    :param done: names of the changes made before the failure.
    :param refused: text for a refusal; None: the service "refused to change"
        the object, with the error.
    :param service: name of the service.
    """
    made = f'changed before the failure: {", ".join(done)}; ' if done else ''
    left = '"openstack tier plan" shows what is left to do'
    if not isinstance(openstack_client.failure(error, ''), errors.NotVisible):
        return errors.ActionFailed(
            f'{service} did not confirm a change of {key}: {error}; whether '
            f'it was made is not known; {made}{left}'
        )
    said = refused or f'{service} refused to change {key}: {error}'
    return errors.ActionFailed(
        f'{said}; {made}{left}'
        if done
        else f'{said}; no part of it was changed'
    )
