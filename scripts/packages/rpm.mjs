/** Writes a package for RHEL and its relatives by rpmbuild. It finds by itself which libraries the executable needs. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** The argument is the number of versions that are installed afterwards. */
const SCRIPTS = {
  post: 'configure "$([ "$1" -eq 1 ] || echo upgrade)"',
  preun: '[ "$1" -gt 0 ] || stop_for_good',
  postun: 'reload_units',
};
const MACROS = {
  // Stripping would remove the program from the executable.
  __os_install_post: '%{nil}',
  debug_package: '%{nil}',
  _build_id_links: 'none',
  // As in the .deb; every version of rpm reads it.
  _binary_payload: 'w6.gzdio',
  // Otherwise two packages of the same files differ.
  _buildhost: 'reproducible',
  use_source_date_epoch_as_buildtime: '1',
  clamp_mtime_to_source_date_epoch: '1',
};

/** Returns the path of the package. */
export function writeRpm({ described, tree, files, place, folder, run }) {
  const top = path.join(place, 'rpm');
  mkdirSync(top);
  const spec = path.join(top, 'package.spec');
  writeFileSync(spec, toSpec(described, tree, files));
  const name = `${described.name}-${described.version}-1.x86_64.rpm`;
  const macros = { ...MACROS, _topdir: top, _tmppath: top, _rpmdir: folder, _rpmfilename: name };
  const defines = Object.entries(macros).flatMap(([macro, value]) => ['--define', `${macro} ${value}`]);
  run('rpmbuild', ['-bb', '--quiet', '--target=x86_64-linux', ...defines, spec]);
  return path.join(folder, name);
}

function toSpec(described, tree, files) {
  const { name, version, maintainer, summary, text, licence, configuration, owned, shared, functions } = described;
  const list = [
    ...owned.map((folder) => `%dir /${folder}`),
    // rpm would set the group back at each upgrade.
    ...shared.map((folder) => `%ghost %dir %verify(not mode group) /${folder}`),
    ...files.map((file) => `${configuration.includes(file) ? '%config(noreplace) ' : ''}/${file}`),
  ];
  // Of %, rpmbuild makes macros.
  const body = functions.replaceAll('%', '%%');
  const scripts = Object.entries(SCRIPTS).map(([when, call]) => `%${when}\nset -e\n${body}\n${call}\n`);
  return `Name: ${name}
Version: ${version}
Release: 1
Summary: ${summary[0].toUpperCase()}${summary.slice(1)}
License: ${licence}
Group: Applications/Internet
Packager: ${maintainer}
Requires(post): /usr/sbin/useradd

%description
${text.join('\n')}

%install
mkdir -p %{buildroot}
cp -a '${tree}/.' %{buildroot}

${scripts.join('\n')}
%files
%defattr(-,root,root,-)
${list.join('\n')}
`;
}
