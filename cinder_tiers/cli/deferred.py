# SPDX-License-Identifier: Apache-2.0

"""Commands that are imported when they are run, and not before.

cliff 4 and osc-lib load each command of each installed plugin at each start.
What entry points name must therefore be cheap to import: half a second of the
processor went into each `openstack server list` on a host with these commands.
"""

import importlib

#: What the extras bring along; any other missing module is a defect.
_OF_EXTRAS = frozenset(
    {'cliff', 'jsonschema', 'openstack', 'osc_lib', 'tooz', 'yaml'}
)


def missing(error: ModuleNotFoundError) -> str | None:
    """Return how to install a module that is missing.

    :returns: a sentence for the user; None: its absence is a defect.
    """
    if (error.name or '').partition('.')[0] not in _OF_EXTRAS:
        return None
    return (
        f'openstack tier: the Python module {error.name} is missing: '
        'this is the base install, for cinder-api and cinder-scheduler. '
        "Install the commands with: pip install 'cinder-tiers[cli]'"
    )


def command(module: str, name: str) -> type:
    """A class whose call makes an object of another class.

    :param module: where that other class is.
    :param name: its name.
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
        """Is read by cliff, to know whether to pass `cmd_name`; never run."""

    return type(
        name,
        (),
        {'__new__': make, '__init__': arguments, '__module__': module},
    )
