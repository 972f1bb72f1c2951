/**
 * A base image for the Dockerfile from files of this machine, without a download: the Debian packages that the build needs, and Node.js with
 * npm. It does not show what the real base image contains.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, lstatSync, mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';

const PACKAGES = [
  ...['base-files', 'bash', 'coreutils', 'dash', 'findutils', 'grep', 'sed', 'libc-bin', 'libc6', 'libgcc-s1'],
  // The dependencies of these, and the libraries that Node.js is linked with.
  ...['libacl1', 'libatomic1', 'libattr1', 'libgmp10', 'libpcre2-8-0', 'libselinux1', 'libstdc++6', 'libtinfo6'],
];
/** layOutBase() creates these links first. */
const IS_THERE = /^\/(?:bin|sbin|lib|lib64)$/;
const BIN_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Writes the image to `root`, and returns its environment variables, by which npm reaches the same registry as here. */
export function layOutBase(root) {
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) {
    mkdirSync(path.join(root, 'usr', name), { recursive: true });
    symlinkSync(`usr/${name}`, path.join(root, name));
  }
  // These contain the licences of libgcc and libstdc++; their names contain the version of the compiler.
  const compilers = outputOf('dpkg-query', ['--show', 'gcc-[0-9]*-base'])
    .split('\n')
    .map((line) => line.split('\t', 1)[0]);
  // dpkg prints a diversion as a sentence, and lists files that the installation may have left out.
  const files = outputOf('dpkg', ['--listfiles', ...PACKAGES, ...compilers])
    .split('\n')
    .filter((line) => line.startsWith('/') && !IS_THERE.test(line) && existsSync(line))
    .filter((file) => !lstatSync(file).isDirectory())
    .map((file) => file.slice(1));
  outputOf('cp', ['--archive', '--parents', `--target-directory=${root}`, ...new Set(files)], '/');
  mkdirSync(path.join(root, 'tmp'));
  const local = path.join(root, 'usr/local');
  mkdirSync(path.join(local, 'bin'), { recursive: true });
  cpSync(process.execPath, path.join(local, 'bin/node'));
  // Beside `bin`, as in the archive of Node.js: executable.mjs takes it from there.
  const licence = path.resolve(path.dirname(process.execPath), '../LICENSE');
  if (existsSync(licence)) cpSync(licence, path.join(local, 'LICENSE'));
  const npm = realpathSync(outputOf('sh', ['-c', 'command -v npm']));
  cpSync(path.dirname(path.dirname(npm)), path.join(local, 'lib/node_modules/npm'), { recursive: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', path.join(local, 'bin/npm'));
  return {
    PATH: BIN_PATH,
    npm_config_registry: outputOf('npm', ['config', 'get', 'registry']),
    ...copyCertificates(root),
  };
}

/** The certificates by which npm on this machine trusts the registry. */
function copyCertificates(root) {
  const files = {
    NODE_EXTRA_CA_CERTS: process.env.NODE_EXTRA_CA_CERTS,
    npm_config_cafile: outputOf('npm', ['config', 'get', 'cafile']),
  };
  const found = Object.entries(files).filter(([, file]) => file && file !== 'null');
  for (const [, file] of found) cpSync(file, path.join(root, file), { dereference: true });
  return Object.fromEntries(found);
}

function outputOf(program, args, cwd) {
  // Since Node.js 22, npm would leave a compile cache in the temporary folder.
  const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' };
  return execFileSync(program, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}
