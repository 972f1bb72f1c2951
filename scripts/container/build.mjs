/**
 * Runs the instructions of a Dockerfile. A stage is a folder: of a base image it gets this machine's files, with the changes of the stage
 * on top of them, and of `scratch` nothing. So what a base image holds is not shown here, but all that is made of it is.
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  utimesSync,
} from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { expand, parseDockerfile } from './dockerfile.mjs';
import { createIgnore } from './ignore.mjs';
import { mount, mountOverlay } from './mounts.mjs';

/** As in the base image: first its own node, then the system. */
const BASE_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** What a build may know of the machine: how to reach the registry, which an engine is told as well. */
const NETWORK_VARIABLES =
  /^(?:npm_config_(?:registry|cafile)|https?_proxy|no_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_(?:FILE|DIR))$/i;

/** A copy of what a build gets of `context`, so that nobody changes it between two builds. */
export function takeContext(context, folder) {
  const ignore = path.join(context, '.dockerignore');
  const isTaken = createIgnore(readFileSync(ignore, 'utf8'));
  // A folder that is kept out may hold something that is not.
  const isFolder = (file) => lstatSync(file).isDirectory() && !/^(?:node_modules|\.git)$/.test(path.basename(file));
  const filter = (file) =>
    file === context || file === ignore || isFolder(file) || isTaken(path.relative(context, file));
  cpSync(context, folder, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true, filter });
}

/**
 * `{ root, env, user, entrypoint, healthCheck, labels }` of the last stage. `context`: the folder of the build, `project`: where it
 * was taken from; `folder`: where stages are made;
 * `args`: values of `--build-arg`.
 */
export function build({ file, context, project, folder, args, say }) {
  const instructions = parseDockerfile(readFileSync(file, 'utf8'));
  const isTaken = createIgnore(readFileSync(path.join(context, '.dockerignore'), 'utf8'));
  const build = { context, project, folder, args, say, isTaken, globals: new Map(), stages: [] };
  for (const { line, name, value } of instructions) {
    try {
      apply(build, name, value);
    } catch (error) {
      throw new Error(`${path.basename(file)}, line ${line}: ${name}: ${error.message}`);
    }
  }
  const last = build.stages.at(-1);
  if (last?.entrypoint === undefined) throw new Error(`${path.basename(file)}: the last stage has no ENTRYPOINT`);
  return last;
}

function apply(build, name, value) {
  const stage = build.stages.at(-1);
  if (name === 'FROM') return build.stages.push(begin(build, value));
  if (stage === undefined) {
    if (name !== 'ARG') throw new Error('expected FROM before it');
    return build.globals.set(value.name, build.args.get(value.name) ?? value.byDefault ?? '');
  }
  const known = new Map([...stage.args, ...stage.env]);
  const steps = {
    ARG: () =>
      stage.args.set(value.name, build.args.get(value.name) ?? value.byDefault ?? build.globals.get(value.name) ?? ''),
    ENV: () => {
      for (const [key, text] of value) stage.env.set(key, expand(text, known));
    },
    LABEL: () => {
      for (const [key, text] of value) stage.labels.set(key, expand(text, known));
    },
    USER: () => Object.assign(stage, { user: expand(value, known) }),
    WORKDIR: () => {
      stage.folder = path.posix.resolve(stage.folder, expand(value, known));
      mkdirSync(path.join(stage.root, stage.folder), { recursive: true });
    },
    COPY: () => copy(build, stage, value, known),
    RUN: () => run(build, stage, value),
    EXPOSE: () => {},
    HEALTHCHECK: () => Object.assign(stage, { healthCheck: value }),
    ENTRYPOINT: () => Object.assign(stage, { entrypoint: value }),
    CMD: () => Object.assign(stage, { command: value }),
  };
  return steps[name]();
}

function begin(build, { image, stage: name }) {
  const of = expand(image, build.globals);
  const place = path.join(build.folder, `stage-${build.stages.length}`);
  const stage = { name, root: place, folder: '/', user: '0:0', env: new Map(), args: new Map(), labels: new Map() };
  build.say(`stage ${name ?? 'last'}, from ${of}`);
  if (of === 'scratch') {
    mkdirSync(place, { recursive: true });
    return stage;
  }
  stage.root = mountOverlay('/', place);
  // Last, for npm: a Node.js that is not installed as in the image has it beside itself.
  stage.env.set('PATH', `${BASE_PATH}:${path.dirname(process.execPath)}`).set('HOME', '/root');
  for (const shared of ['/proc', '/dev']) mount(['--rbind', shared, path.join(stage.root, shared)]);
  mount(['-t', 'tmpfs', 'none', path.join(stage.root, 'tmp')]);
  // What is not copied must not be found. (Where it is in /tmp, that is gone already.)
  const hidden = path.join(stage.root, build.project);
  if (existsSync(hidden)) mount(['-t', 'tmpfs', 'none', hidden]);
  copyFileSync(process.execPath, path.join(stage.root, 'usr/local/bin/node'));
  return stage;
}

function copy(build, stage, { from, sources, target }, known) {
  const source = from === undefined ? undefined : build.stages.find(({ name }) => name === from);
  if (from !== undefined && source === undefined) throw new Error(`${from}: no stage has that name`);
  const root = source?.root ?? build.context;
  // Never above the root, as in an image.
  const place = path.join(stage.root, path.posix.resolve(stage.folder, expand(target, known)));
  for (const written of sources) {
    const name = path.posix.join('/', expand(written, known)).slice(1);
    if (source === undefined && name !== '' && !build.isTaken(name))
      throw new Error(`${name}: .dockerignore keeps it out`);
    const one = path.join(root, name);
    const isFolder = lstatSync(one).isDirectory();
    const isInto = isFolder || target.endsWith('/') || sources.length > 1;
    mkdirSync(isInto ? place : path.dirname(place), { recursive: true });
    const to = isInto && !isFolder ? path.join(place, path.basename(one)) : place;
    const filter = (file) => source !== undefined || file === one || build.isTaken(path.relative(root, file));
    cpSync(one, to, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true, filter });
    if (source !== undefined) takeOver(one, to);
  }
}

/** cpSync keeps neither the times of folders and links nor all modes, which a copy between stages does. */
function takeOver(from, to) {
  const stats = lstatSync(from);
  if (stats.isSymbolicLink()) return lutimesSync(to, stats.atime, stats.mtime);
  if (!stats.isDirectory()) return;
  for (const name of readdirSync(from)) takeOver(path.join(from, name), path.join(to, name));
  chmodSync(to, stats.mode & 0o7777);
  utimesSync(to, stats.atime, stats.mtime);
}

function run(build, stage, command) {
  const network = Object.entries(process.env).filter(([name]) => NETWORK_VARIABLES.test(name));
  const env = Object.fromEntries([...network, ...stage.args, ...stage.env]);
  const first = String(command);
  build.say(`RUN ${first.length > 100 ? `${first.slice(0, 100)}...` : first}`);
  const words = typeof command === 'string' ? ['/bin/sh', '-c', command] : command;
  const inside = ['/bin/sh', '-c', 'cd "$1" && shift && exec "$@"', 'sh', stage.folder, ...words];
  succeed(spawnSync('chroot', [`--userspec=${stage.user}`, stage.root, ...inside], { env, encoding: 'utf8' }));
}

function succeed({ status, stdout, stderr, error }) {
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`ended with ${status}\n${stdout}${stderr}`);
}
