/** Starts the built image as an unprivileged user on a read-only tree, and runs all commands of a container in it. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { mount, mountOverlay } from './mounts.mjs';

/** Full paths, since PATH is that of the image. */
const SETPRIV = '/usr/bin/setpriv';
const CHROOT = '/usr/sbin/chroot';
const ANY_PORTS = { D2_SIDECAR_LISTEN_PORT: '0', D2_SIDECAR_MONITOR_PORT: '0' };
/** No load balancer has to notice the drain, so there is no wait for it. */
const AT_ONCE = { D2_SIDECAR_STOP_DELAY: '0', D2_SIDECAR_STOP_WINDOW: '0' };
const EXIT_USAGE = 64;

/**
 * Throws at the first failed expectation. `hasTmp`: whether /tmp is a tmpfs, as by `docker run --tmpfs /tmp`; `guide`: text of the document
 * with the table of commands for a container. All these commands are run.
 */
export async function tryOut({ image, folder, hasTmp, guide, say }) {
  const upstream = await startUpstream();
  const url = `http://127.0.0.1:${upstream.address().port}/smartWeb`;
  const trial = new Trial(image, prepare(image, folder, hasTmp), { D2_SIDECAR_UPSTREAM_URL: url });
  const { child, logs, listening } = trial.start();
  try {
    const { listen, monitor } = await listening;
    const { port } = new URL(`http://${listen}`);
    expect('an answer through the sidecar', await get(`http://127.0.0.1:${port}/smartWeb/x`), 'answered');
    checkRights(readFileSync(`/proc/${child.pid}/status`, 'utf8'), image.user);
    if (hasTmp) askWithin(trial, image, toCommands(guide));
    // Without /tmp there is no control socket, so health connects to the monitoring port.
    else expect('health --monitor', trial.run(['d2-sidecar', 'health', '--monitor', monitor]).status, 0);
    const version = trial.run(['d2-sidecar', '--version']).stdout;
    if (!version.includes(`build ${logs[0].build},`)) throw new Error(`--version and the log differ: ${version}`);
    for (const name of ['sample', 'schema', 'licences'])
      expect(`print ${name}`, trial.run(['d2-sidecar', 'print', name]).status, 0);
    say(`serves as user ${image.user} on a read-only tree, ${hasTmp ? 'with' : 'without'} /tmp: ${version.trim()}`);
  } finally {
    child.kill('SIGTERM');
    upstream.close();
  }
  const [code] = await once(child, 'exit');
  expect('the exit code at SIGTERM', code, 0);
}

class Trial {
  #image;
  #root;
  #env;

  /** `env`: the variables of `docker run -e`. */
  constructor(image, root, env) {
    this.#image = image;
    this.#root = root;
    this.#env = { ...Object.fromEntries(image.env), ...env };
  }

  start() {
    const child = spawn(SETPRIV, this.#words(this.#image.entrypoint), {
      env: { ...this.#env, ...ANY_PORTS, ...AT_ONCE },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const logs = [];
    const listening = new Promise((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`the sidecar ended with ${code}: ${JSON.stringify(logs)}`)));
      createInterface({ input: child.stdout }).on('line', (line) => {
        logs.push(JSON.parse(line));
        if (logs.at(-1).msg === 'listening') resolve(logs.at(-1));
      });
    });
    return { child, logs, listening };
  }

  /** Like `docker exec`: no shell, the environment and user of the container, and the PATH of the image. */
  run(words, env = {}) {
    return spawnSync(SETPRIV, this.#words(words), { env: { ...this.#env, ...env }, encoding: 'utf8' });
  }

  #words(words) {
    return ['--no-new-privs', CHROOT, `--userspec=${this.#image.user}`, '--groups=', this.#root, ...words];
  }
}

/** Adds the mounts of a container engine to the image; then makes the tree read-only, also for root. */
function prepare({ root: image }, folder, hasTmp) {
  const root = mountOverlay(image, folder);
  for (const name of ['dev', 'proc', 'etc']) mkdirSync(path.join(root, name), { recursive: true });
  for (const name of ['null', 'urandom']) {
    writeFileSync(path.join(root, 'dev', name), '');
    mount(['--bind', `/dev/${name}`, path.join(root, 'dev', name)]);
  }
  writeFileSync(path.join(root, 'etc/hosts'), '127.0.0.1 localhost\n');
  mount(['-t', 'proc', 'proc', path.join(root, 'proc')]);
  mount(['-o', 'remount,ro', root]);
  if (hasTmp) {
    mount(['-t', 'tmpfs', 'none', path.join(root, 'tmp')]);
    chmodSync(path.join(root, 'tmp'), 0o1777);
  }
  return root;
}

function askWithin(trial, image, commands) {
  expect('the health check', trial.run(image.healthCheck).status, 0);
  // A drain cannot be undone, so it comes last.
  const isLast = (words) => words.includes('drain');
  for (const words of commands.toSorted((one, other) => Number(isLast(one)) - Number(isLast(other)))) {
    const { status, stderr } = trial.run(words);
    if (status !== 0) throw new Error(`${words.join(' ')}: ended with ${status}: ${stderr}`);
  }
  const [health, ready, check] = ['health', 'health --ready', 'check'].map((text) => [
    'd2-sidecar',
    ...text.split(' '),
  ]);
  expect('health --ready while it drains', trial.run(ready).status, 1);
  expect('health while it drains', trial.run(health).status, 0);
  expect('check of an invalid configuration', trial.run(check, { D2_SIDECAR_LISTEN_PORT: 'x' }).status, EXIT_USAGE);
}

/** The words of the command in each row such as "| liveness | `d2-sidecar health` | ... |". */
function toCommands(guide) {
  const found = [...guide.matchAll(/^\|[^|]*\| `(d2-sidecar [^`]+)` +\|/gm)].map(([, command]) => command.split(' '));
  if (!found.some((words) => words.includes('drain')))
    throw new Error('docs/install.md has no table of commands for a container');
  return found;
}

function checkRights(status, user) {
  const value = (name) => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1];
  const [uid, gid] = user.split(':');
  expect('its user', value('Uid'), Array(4).fill(uid).join('\t'));
  expect('its group', value('Gid'), Array(4).fill(gid).join('\t'));
  expect('its capabilities', Number.parseInt(value('CapEff'), 16), 0);
  expect('NoNewPrivs', value('NoNewPrivs'), '1');
}

async function startUpstream() {
  const server = http.createServer((_, response) => response.end('answered'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function get(url) {
  const response = await fetch(url, { headers: { connection: 'close' } });
  return await response.text();
}

function expect(what, is, expected) {
  if (is !== expected) throw new Error(`${what}: got ${JSON.stringify(is)}, expected ${JSON.stringify(expected)}`);
}
