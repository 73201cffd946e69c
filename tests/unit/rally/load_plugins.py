# SPDX-License-Identifier: Apache-2.0

"""Load plugins as Rally does and tell, as JSON, what became of it.

A program and not a module, since Rally loads plugins once in a process.
Usage: load_plugins.py PACKAGE...  (values of the entry point "path")
Of the warnings there is a list for each package.
"""

import importlib.metadata
import json
import logging
import sys


class Remember(logging.Handler):
    def __init__(self):
        super().__init__(logging.WARNING)
        self.messages = []

    def emit(self, record):
        self.messages.append(record.getMessage())


def main():
    remember = Remember()
    logging.getLogger().addHandler(remember)

    from rally.common.plugin import discover
    from rally.common.plugin import plugin
    from rally import plugins

    plugins.load()
    warnings = []
    for package in sys.argv[1:]:
        remember.messages = []
        discover.import_modules_by_entry_point(
            _packages=[
                {
                    'name': 'cinder-tiers',
                    'version': 'under test',
                    'plugins_path': package,
                    'plugins_path_ep': importlib.metadata.EntryPoint(
                        name='path', value=package, group='rally_plugins'
                    ),
                }
            ]
        )
        warnings.append(remember.messages)
    ours = [
        p
        for p in plugin.Plugin.get_all(allow_hidden=True)
        if p.__module__.startswith('rally_scenarios.')
    ]
    # Rally checks docstrings and annotations against each other here.
    remember.messages = warnings[0]
    info = {p.get_name(): p.get_info()['title'] for p in ours}
    json.dump(
        {
            'warnings': warnings,
            'plugins': info,
            'modules': sorted(
                name
                for name in sys.modules
                if name.startswith('rally_scenarios.')
            ),
        },
        sys.stdout,
    )


main()
