# SPDX-License-Identifier: Apache-2.0

"""A host of cinder-api and cinder-scheduler, with what its pages tell to do.

The pages are "Existing cloud", steps 1 and 2, and "Removing the package".
There is no cloud around it: no tier is applied, and nothing answers requests.
"""

import configparser
import pathlib
import re
import shlex
import subprocess
import textwrap

TOP = pathlib.Path(__file__).resolve().parents[2]
GUIDE = TOP / 'doc' / 'source'
EXISTING_CLOUD = GUIDE / 'install' / 'existing-cloud.rst'
UNINSTALL = GUIDE / 'admin' / 'uninstall.rst'
_BLOCK = r'(?m)^( *)\.\. code-block:: {}\n\n((?:\1   .*\n|\n)+)'
PIPELINES = 'composite:openstack_volume_api_v3'
CONFIGURATION = """\
[DEFAULT]
api_paste_config = {etc}/api-paste.ini
state_path = {state}
transport_url = fake:/
[database]
connection = sqlite:///{state}/cinder.sqlite
"""
#: What the two services do first, as far as it names parts of the package.
STARTS = """
import sys
from cinder.wsgi import wsgi
wsgi.initialize_application()
from cinder.scheduler import host_manager
hosts = host_manager.HostManager()
used = [one.__name__ for one in hosts.enabled_filters]
used += [one.__name__ for one in hosts._choose_backend_weighers(None)]
used += [name for name in sys.modules if name == 'cinder_tiers.api']
print('uses', *used)
"""


def run(*command, expected=0, **options):
    """Run a command; its standard output.

    :param expected: its exit status
    :raises AssertionError: it has another one; the message is all that it
        said.
    """
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        **options,
    )
    if done.returncode != expected:
        raise AssertionError(
            f'{command}: exit status {done.returncode}, expected {expected}:\n'
            f'{done.stdout}{done.stderr}'
        )
    return done.stdout


def debian_source():
    """The source of a Debian 13, from the mirror that apt uses here."""
    mirror = run(
        'bash', '-c', '. devstack/machine.sh && debian_mirror', cwd=TOP
    ).strip()
    return f'deb {mirror} trixie main'


def blocks(page, language):
    """The code blocks of a page in a language."""
    found = re.findall(_BLOCK.format(language), page.read_text('utf-8'))
    return [textwrap.dedent(text) for _, text in found]


def parsed(text):
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    return parser


class CinderHost:
    """The configuration of Cinder and its programs, in a root of their own."""

    def __init__(self, root, programs, state, etc='/etc/cinder'):
        """Write a configuration of Cinder alone, and make its database.

        :param root: folder that is the root of the programs
        :param programs: their folder, in there
        :param state: folder for the database, in there
        :param etc: folder of Cinder's configuration, in there
        """
        self.root = pathlib.Path(root)
        self._programs = programs
        self._conf_option = f'--config-file={etc}/cinder.conf'
        self._conf = self.root / etc.lstrip('/') / 'cinder.conf'
        self._paste = self._conf.with_name('api-paste.ini')
        self._conf.write_text(CONFIGURATION.format(etc=etc, state=state))
        self._alone = self._paste.read_text()
        self.call('cinder-manage', self._conf_option, 'db', 'sync')

    def call(self, program, *arguments, expected=0):
        """Run a program; its standard output. It leaves no byte code."""
        return run(
            *(() if self.root == pathlib.Path('/') else ('chroot', self.root)),
            *('env', 'PYTHONDONTWRITEBYTECODE=1', 'LC_ALL=C.UTF-8'),
            *(f'{self._programs}/{program}', *arguments),
            expected=expected,
            cwd='/',
        )

    def used(self):
        """Names of the parts of the package that starting services use."""
        said = self.call('python3', '-c', STARTS, self._conf_option)
        [line] = re.findall('(?m)^uses (.*)', said)
        return {one for one in line.split() if 'tier' in one.lower()}

    def enable(self):
        """Do what steps 1 and 2 say, and run their check."""
        scheduler, api = map(parsed, blocks(EXISTING_CLOUD, 'ini')[:2])
        conf = parsed(self._conf.read_text())
        conf['DEFAULT'].update(scheduler.defaults())
        with self._conf.open('w') as stream:
            conf.write(stream)
        paste = parsed(self._alone)
        paste['filter:tiers'] = api['filter:tiers']
        for name, pipeline in paste[PIPELINES].items():
            paste[PIPELINES][name] = pipeline.replace(' apiv3', ' tiers apiv3')
        if paste[PIPELINES]['keystone'] != api[PIPELINES]['keystone']:
            raise AssertionError(
                f'found the pipeline {paste[PIPELINES]["keystone"]}, the page'
                f' expects {api[PIPELINES]["keystone"]}'
            )
        with self._paste.open('w') as stream:
            paste.write(stream)
        self.call('cinder-tiers-status', self._conf_option, 'upgrade', 'check')

    def disable(self):
        """Do what the way back says, and look for what names the package."""
        conf = parsed(self._conf.read_text())
        for option in tuple(conf.defaults()):
            if option.startswith('scheduler_default_'):
                del conf['DEFAULT'][option]
        with self._conf.open('w') as stream:
            conf.write(stream)
        self._paste.write_text(self._alone)
        first, second, _ = self.commands('grep')
        for command in (first, second):
            # It prints nothing, because it finds nothing.
            run(*command, expected=1)

    def uninstall(self):
        """Remove the package from a virtual environment."""
        [(program, *arguments)] = self.commands('pip')
        self.call(program, *arguments, '--yes')

    def commands(self, program):
        """The words of each command of the page with a program."""
        etc = str(self._conf.parent)
        for text in blocks(UNINSTALL, 'console'):
            for line in text.splitlines():
                if line.startswith(f'# {program} '):
                    yield [
                        word.replace('/etc/cinder', etc)
                        for word in shlex.split(line[2:])
                    ]
