# SPDX-License-Identifier: Apache-2.0

"""Position of the API door in Cinder's api-paste.ini.

Paste's own loader would import the code that the file names; only its sections
are needed. Must not know where the file lies.
"""

import configparser
import dataclasses

FACTORY = 'cinder_tiers.api:filter_factory'
#: The application of Cinder's API, and the path below which it answers.
_ROOT = 'composite:osapi_volume'
_PATH = '/v3'
#: What makes the request's context; the door must come after it.
_CONTEXT_FILTERS = frozenset(
    {'keystonecontext', 'noauth', 'noauth_include_project_id'}
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PasteDoor:
    """The API door as an api-paste.ini configures it."""

    #: Where it was looked for: `[section] option`.
    pipeline: str
    is_open: bool
    #: What would hinder cinder-api, or the door; empty when nothing would.
    fault: str = ''


class _CaseSensitive(configparser.RawConfigParser):
    """A reader of names as Paste has them."""

    def optionxform(self, optionstr: str) -> str:
        return optionstr


def find_door(text: str, *, strategy: str, is_limited: bool) -> PasteDoor:
    """Look for the door in the pipeline that cinder-api uses.

    The choice of the pipeline is Cinder's (cinder/api/middleware/auth.py,
    pipeline_factory).

    :param text: content of api-paste.ini.
    :param strategy: value of the option auth_strategy.
    :param is_limited: value of the option api_rate_limit.
    :raises ValueError: the file is not structured like Cinder's; the text says
        what was found and what was expected.
    """
    parsed = _CaseSensitive(strict=False)
    try:
        parsed.read_string(text)
    except configparser.Error as error:
        raise ValueError(f'it cannot be read: {error}') from error
    name = parsed.get(_ROOT, _PATH, fallback='')
    section = f'composite:{name}'
    if not parsed.has_option(section, strategy):
        raise ValueError(
            f'found {_PATH} = {name or "(nothing)"} in [{_ROOT}], expected '
            f'the name of a composite section that has {strategy}, the '
            'auth_strategy of cinder.conf'
        )
    option = strategy
    if not is_limited and parsed.has_option(section, f'{strategy}_nolimit'):
        option = f'{strategy}_nolimit'
    filters = parsed.get(section, option).split()[:-1]
    ours = {
        one.partition(':')[2]
        for one in parsed.sections()
        if one.startswith('filter:')
        and parsed.get(one, 'paste.filter_factory', fallback='') == FACTORY
    }
    return PasteDoor(
        pipeline=f'[{section}] {option}',
        is_open=bool(ours.intersection(filters)),
        fault=_fault(filters, ours),
    )


def _fault(filters: list[str], ours: set[str]) -> str:
    places = [index for index, name in enumerate(filters) if name in ours]
    if not places:
        if 'tiers' in filters:
            return (
                'the filter tiers is in the pipeline, but the file has '
                'no [filter:tiers] with paste.filter_factory '
                f'= {FACTORY}; add it'
            )
        return ''
    if len(places) > 1:
        return (
            'the filter is in the pipeline more than once; remove all but '
            'the last'
        )
    later = [
        name for name in filters[places[0] + 1 :] if name in _CONTEXT_FILTERS
    ]
    if later:
        return (
            f'the filter comes before {later[0]}, which sets the project of '
            'the request; put it directly before the application'
        )
    return ''
