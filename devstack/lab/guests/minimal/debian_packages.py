# SPDX-License-Identifier: Apache-2.0

"""What the guest is made of comes from Debian's archive, through apt.

The kernel, busybox and libaio are unpacked in the build's own folder and never
installed; fio's source needs a source index, which most hosts do not have.
The host's sources, lists and caches are read, never written. Knows apt's
formats (sources.list(5), apt-cache(8)), not what is done with the packages.
"""

import dataclasses
import pathlib
import re

from lab.guests import build_folder
from lab.host import commands


@dataclasses.dataclass(frozen=True, kw_only=True)
class Package:
    """A package as the archive has it; equal values mean equal contents.

    :param name: name of the binary or source package.
    :param version: its Debian version.
    :param sha256: of the .deb; empty for a source package, whose archive
        never changes a version's contents.
    """

    name: str
    version: str
    sha256: str


def parse_stanza(text: str) -> dict[str, str]:
    """Read the first stanza of deb822 text, e.g. from ``apt-cache show``.

    :returns: {field name in lower case: value}; the lines of a folded value
        are kept, with their line breaks.
    """
    fields: dict[str, str] = {}
    name = ''
    for line in text.strip().splitlines():
        if not line.strip():
            break
        if line.startswith('#'):
            continue
        if line[0].isspace():
            fields[name] += f'\n{line}'
            continue
        name, _, value = line.partition(':')
        name = name.lower()
        fields[name] = value.strip()
    return fields


def deb_src_stanzas(text: str, archive: str) -> str:
    """Turn a ``.sources`` file into its source counterpart.

    :param text: the file; format: sources.list(5), DEB822-STYLE FORMAT.
    :param archive: only stanzas that name this URI are taken.
    :returns: the same stanzas with ``Types: deb-src``; '' if there are none.
    """
    stanzas = []
    without_comments = re.sub(r'(?m)^#.*\n?', '', text)
    for stanza in re.split(r'\n\s*\n', without_comments):
        fields = parse_stanza(stanza)
        if (
            'deb' in fields.get('types', '').split()
            and fields.get('enabled', 'yes') != 'no'
            and archive.rstrip('/') in _uris(fields.get('uris', ''))
        ):
            fields['types'] = 'deb-src'
            fields['uris'] = archive
            stanzas.append(
                ''.join(f'{name}: {value}\n' for name, value in fields.items())
            )
    return '\n'.join(stanzas)


def deb_src_lines(text: str, archive: str) -> str:
    """Turn a ``sources.list`` or ``.list`` file into its source counterpart.

    :param text: the file; format: sources.list(5), ONE-LINE-STYLE FORMAT.
    :param archive: only lines that name this URI are taken.
    :returns: the same lines with the type ``deb-src``; '' if there are none.
    """
    lines = []
    for line in text.splitlines():
        entry = re.match(r'\s*deb(\s+(?:\[[^]]*\]\s*)?(\S+)\s.*)', line)
        if entry and entry[2].rstrip('/') == archive.rstrip('/'):
            lines.append(f'deb-src{entry[1]}\n')
    return ''.join(lines)


def find(name: str) -> Package:
    """Find the version of a binary package that apt would install.

    :raises GuestImageError: the host's apt lists do not have it.
    """
    fields = _show(name)
    return Package(
        name=name, version=fields['version'], sha256=fields['sha256']
    )


def find_dependency(name: str, pattern: str) -> Package:
    """Find the package behind a metapackage.

    :param name: the metapackage.
    :param pattern: regular expression; the whole name of the dependency.
    :raises GuestImageError: no such package, or no such dependency.
    """
    depends = _show(name).get('depends', '')
    for dependency in re.split(r'[,|]', depends):
        words = dependency.split()
        if words and re.fullmatch(pattern, words[0]):
            return find(words[0])
    raise build_folder.GuestImageError(
        f'package {name} depends on "{depends}", expected a package whose '
        f'name is like {pattern}'
    )


def find_source(name: str) -> Package:
    """Find the source package that a binary package was built from.

    :raises GuestImageError: the host's apt lists do not have the binary.
    """
    return parse_source(name, _show(name))


def parse_source(name: str, fields: dict[str, str]) -> Package:
    """Read from a binary package's stanza what it was built from.

    :param name: the binary package.
    :param fields: its stanza, from :func:`parse_stanza`.
    :raises GuestImageError: its Source field is not understood.
    """
    # "Source: fio (3.33-3)" where the binary has another version ("+b1").
    source = re.fullmatch(
        r'(\S+)(?:\s+\((\S+)\))?', fields.get('source', name)
    )
    if source is None:
        raise build_folder.GuestImageError(
            f'package {name} has the field "Source: {fields["source"]}", '
            f'expected "Source: NAME (VERSION)"'
        )
    return Package(
        name=source[1], version=source[2] or fields['version'], sha256=''
    )


def unpack(
    package: Package, *, folder: build_folder.BuildFolder
) -> pathlib.Path:
    """Download a binary package and unpack it without installing it.

    Packages of Debian 13 hold in usr/ what was in / before; links lead there,
    as the package base-files makes them.

    :returns: the folder that holds the package's files.
    :raises lab.host.commands.CommandFailed: apt-get or dpkg-deb failed.
    """
    folder.run(
        'apt-get',
        *_private_cache(folder.path),
        'download',
        f'{package.name}={package.version}',
    )
    (deb,) = folder.path.glob(f'{package.name}_*.deb')
    root = folder.path / package.name
    folder.run('dpkg-deb', '--extract', deb, root)
    deb.unlink()
    for name in ('bin', 'lib'):
        if (root / 'usr' / name).is_dir() and not (root / name).exists():
            (root / name).symlink_to(f'usr/{name}')
    return root


def unpack_source(
    package: Package, *, binary: str, folder: build_folder.BuildFolder
) -> pathlib.Path:
    """Download a source package, and unpack and patch it.

    :param package: the source package.
    :param binary: a binary package built from it; says which of the host's
        archives to ask.
    :returns: the folder that holds the unpacked source.
    :raises GuestImageError: no archive has it.
    :raises lab.host.commands.CommandFailed: apt-get failed.
    """
    archive = _archive_of(binary)
    # Of each package its own: they may come from different archives.
    parts = folder.path / f'{package.name}.sources'
    lists = folder.path / f'{package.name}.lists'
    parts.mkdir()
    (lists / 'partial').mkdir(parents=True)
    for file in _host_source_files():
        text = file.read_text(encoding='utf-8')
        derive = (
            deb_src_stanzas if file.suffix == '.sources' else deb_src_lines
        )
        if derived := derive(text, archive):
            (parts / file.name).write_text(derived, encoding='utf-8')
    if not any(parts.iterdir()):
        raise build_folder.GuestImageError(
            f'package {binary} comes from {archive}, but no enabled entry of '
            f'/etc/apt/sources.list and /etc/apt/sources.list.d names that '
            f'archive; run apt-get update and try again'
        )
    options = (
        *_private_cache(folder.path),
        '-o',
        'Dir::Etc::SourceList=/dev/null',
        '-o',
        f'Dir::Etc::SourceParts={parts}',
        '-o',
        f'Dir::State::Lists={lists}',
    )
    folder.run('apt-get', *options, 'update')
    folder.run(
        'apt-get', *options, 'source', f'{package.name}={package.version}'
    )
    (configure,) = folder.path.glob(f'{package.name}-*/configure')
    return configure.parent


def _show(name: str) -> dict[str, str]:
    try:
        text = commands.query('apt-cache', '--no-all-versions', 'show', name)
    except commands.CommandFailed as error:
        raise build_folder.GuestImageError(
            f'apt does not know the package {name} (the guest is made from '
            f"Debian's packages for amd64); run apt-get update\n{error}"
        ) from error
    return parse_stanza(text)


def _archive_of(binary: str) -> str:
    """URI of the archive that has the newest version of a package."""
    rows = commands.query('apt-cache', 'madison', binary).splitlines()
    if not rows:
        raise build_folder.GuestImageError(
            f'no archive in the apt lists has the package {binary}; run '
            f'apt-get update'
        )
    # "fio | 3.33-3 | http://deb.debian.org/debian bookworm/main ..."
    return rows[0].split('|')[2].split()[0]


def _host_source_files() -> list[pathlib.Path]:
    etc_apt = pathlib.Path('/etc/apt')
    parts = etc_apt / 'sources.list.d'
    files = [
        etc_apt / 'sources.list',
        *sorted(parts.glob('*.list')),
        *sorted(parts.glob('*.sources')),
    ]
    return [file for file in files if file.is_file()]


def _private_cache(directory: pathlib.Path) -> tuple[str, ...]:
    cache = directory / 'cache'
    (cache / 'archives' / 'partial').mkdir(parents=True, exist_ok=True)
    return (
        '-o',
        f'Dir::Cache={cache}',
        # The user _apt may not be able to write to the build's folder.
        '-o',
        'APT::Sandbox::User=root',
    )


def _uris(value: str) -> list[str]:
    return [uri.rstrip('/') for uri in value.split()]
