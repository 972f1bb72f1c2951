/**
 * The image that the Dockerfile begins from, made of this machine where none can be downloaded: Debian's packages that the build needs, and
 * Node.js with npm. What the real base image holds is not shown by that.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, lstatSync, mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';

const PACKAGES = [
  ...['base-files', 'bash', 'coreutils', 'dash', 'findutils', 'grep', 'sed', 'libc-bin', 'libc6', 'libgcc-s1'],
  // What those need, and what Node.js is linked with.
  ...['libacl1', 'libatomic1', 'libattr1', 'libgmp10', 'libpcre2-8-0', 'libselinux1', 'libstdc++6', 'libtinfo6'],
];
/** Links that are made first. */
const IS_THERE = /^\/(?:bin|sbin|lib|lib64)$/;
const BIN_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Lays it out in `root`, and gives the variables that are set in it: with them npm reaches the registry that it reaches here. */
export function layOutBase(root) {
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) {
    mkdirSync(path.join(root, 'usr', name), { recursive: true });
    symlinkSync(`usr/${name}`, path.join(root, name));
  }
  // Their names have the version of the compiler; the licences of its libraries are in them.
  const compilers = told('dpkg-query', ['--show', 'gcc-[0-9]*-base'])
    .split('\n')
    .map((line) => line.split('\t', 1)[0]);
  // A diversion is told as a sentence; a package's file may have been left out when it was installed.
  const files = told('dpkg', ['--listfiles', ...PACKAGES, ...compilers])
    .split('\n')
    .filter((line) => line.startsWith('/') && !IS_THERE.test(line) && existsSync(line))
    .filter((file) => !lstatSync(file).isDirectory())
    .map((file) => file.slice(1));
  told('cp', ['--archive', '--parents', `--target-directory=${root}`, ...new Set(files)], '/');
  mkdirSync(path.join(root, 'tmp'));
  const local = path.join(root, 'usr/local');
  mkdirSync(path.join(local, 'bin'), { recursive: true });
  cpSync(process.execPath, path.join(local, 'bin/node'));
  const npm = realpathSync(told('sh', ['-c', 'command -v npm']));
  cpSync(path.dirname(path.dirname(npm)), path.join(local, 'lib/node_modules/npm'), { recursive: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', path.join(local, 'bin/npm'));
  return { PATH: BIN_PATH, npm_config_registry: told('npm', ['config', 'get', 'registry']), ...copyCertificates(root) };
}

/** Those by which this machine trusts the registry. */
function copyCertificates(root) {
  const files = {
    NODE_EXTRA_CA_CERTS: process.env.NODE_EXTRA_CA_CERTS,
    npm_config_cafile: told('npm', ['config', 'get', 'cafile']),
  };
  const found = Object.entries(files).filter(([, file]) => file && file !== 'null');
  for (const [, file] of found) cpSync(file, path.join(root, file), { dereference: true });
  return Object.fromEntries(found);
}

function told(program, args, cwd) {
  // npm would leave its compile cache in the temporary folder, since Node.js 22.
  const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' };
  return execFileSync(program, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}
