# SPDX-License-Identifier: Apache-2.0
"""Adds the paste filter of the tiers to Cinder's api-paste.ini.

Pure: the text of a file in, the text of another one out. Paste's own loader
would import what the file names; all that is needed is its sections.
"""

import configparser
import io

FILTER = 'tiers'
FACTORY = 'cinder_tiers.api:filter_factory'
#: The application of Cinder's API, and the path below which it answers.
_APPLICATION = 'apiv3'
_ROOT = 'composite:osapi_volume'
_PATH = '/v3'


class UnexpectedPipeline(Exception):
    """An api-paste.ini is not built as that of Cinder."""


def add_filter(text: str, source: str) -> str:
    """Return api-paste.ini with the filter of the tiers before Cinder's API.

    The filter stands in each of the pipelines of /v3, whatever authenticates
    the requests, and is the last of the filters: it must know the project of
    a request.

    :param text: api-paste.ini of Cinder 26 or later.
    :param source: names it for errors.
    :raises UnexpectedPipeline: a pipeline of /v3 is missing, ends in another
        application, or has the filter already.
    """
    file = configparser.RawConfigParser()
    file.optionxform = str  # Paste's names are case sensitive
    try:
        file.read_string(text, source)
    except configparser.Error as problem:
        raise UnexpectedPipeline(
            f'{problem}. Expected the api-paste.ini of Cinder.'
        ) from None
    section = _pipelines(file, source)
    for option, value in file[section].items():
        if option == 'use':
            continue
        *filters, application = value.split() or ['']
        if application != _APPLICATION or FILTER in filters:
            raise UnexpectedPipeline(
                f'{source}: [{section}] {option} = {value}, expected filters '
                f'other than {FILTER}, and {_APPLICATION} at the end. Give '
                'the lab the api-paste.ini that Cinder brings.'
            )
        file[section][option] = ' '.join((*filters, FILTER, application))
    file[f'filter:{FILTER}'] = {'paste.filter_factory': FACTORY}
    output = io.StringIO()
    file.write(output)
    return output.getvalue()


def _pipelines(file: configparser.RawConfigParser, source: str) -> str:
    """Return the section whose options are the pipelines of /v3."""
    name = file.get(_ROOT, _PATH, fallback='')
    section = f'composite:{name}'
    if not file.has_section(section):
        raise UnexpectedPipeline(
            f'{source}: found {_PATH} = {name or "(nothing)"} in [{_ROOT}], '
            'expected the name of a composite section with the pipelines of '
            'the volume API. Is this Cinder 26 or later?'
        )
    return section
