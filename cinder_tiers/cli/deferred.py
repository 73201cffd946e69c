# SPDX-License-Identifier: Apache-2.0

"""Commands that are imported only when they run.

cliff 4 and osc-lib load every command of every installed plugin at each start,
so targets of entry points must be cheap to import: importing these commands
cost each `openstack server list` half a second of CPU time.
"""

import importlib

#: Modules that the extras install; any other missing module is a defect.
_OF_EXTRAS = frozenset(
    {'cliff', 'jsonschema', 'openstack', 'osc_lib', 'tooz', 'yaml'}
)


def missing(error: ModuleNotFoundError) -> str | None:
    """Return how to install a missing module.

    :returns: sentence for the user; None if its absence is a defect.
    """
    if (error.name or '').partition('.')[0] not in _OF_EXTRAS:
        return None
    return (
        f'openstack tier: the Python module {error.name} is missing: '
        'this is the base install, for cinder-api and cinder-scheduler. '
        "Install the commands with: pip install 'cinder-tiers[cli]'"
    )


def command(module: str, name: str) -> type:
    """Return a class that creates an object of a class imported late.

    :param module: module of the other class.
    :param name: name of the other class.
    """

    def make(
        cls: type, app: object, app_args: object, cmd_name: str | None = None
    ) -> object:
        try:
            found = getattr(importlib.import_module(module), name)
        except ModuleNotFoundError as error:
            said = missing(error)
            if said is None:
                raise
            raise ModuleNotFoundError(said, name=error.name) from None
        return found(app, app_args, cmd_name)

    def arguments(
        self: object,
        app: object,
        app_args: object,
        cmd_name: str | None = None,
    ) -> None:
        """Have the signature that cliff inspects for `cmd_name`; never run."""

    return type(
        name,
        (),
        {'__new__': make, '__init__': arguments, '__module__': module},
    )
