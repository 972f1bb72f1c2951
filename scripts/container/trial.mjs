/** Starts what was built as an unprivileged user on a tree that nobody can write, and has it do all that a container does. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { mount, mountOverlay } from './mounts.mjs';

/** By their full paths: PATH is that of the image. */
const SETPRIV = '/usr/bin/setpriv';
const CHROOT = '/usr/sbin/chroot';
const ANY_PORTS = { D2_SIDECAR_LISTEN_PORT: '0', D2_SIDECAR_MONITOR_PORT: '0' };
/** Nobody has to learn that it is not ready any more, so it need not wait for that. */
const AT_ONCE = { D2_SIDECAR_STOP_DELAY: '0', D2_SIDECAR_STOP_WINDOW: '0' };
const EXIT_USAGE = 64;

/**
 * Throws an Error that says what does not hold. `hasTmp`: whether /tmp is a tmpfs, as `docker run --tmpfs /tmp` makes it; `guide`: text of
 * the document whose table names the commands for a container, all of which are run.
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
    // Without /tmp there is no control socket, and the monitoring port is asked.
    else expect('health --monitor', trial.run(['d2-sidecar', 'health', '--monitor', monitor]).status, 0);
    const told = trial.run(['d2-sidecar', '--version']).stdout;
    if (!told.includes(`build ${logs[0].build},`)) throw new Error(`--version and the log differ: ${told}`);
    say(`serves as user ${image.user} on a read-only tree, ${hasTmp ? 'with' : 'without'} /tmp: ${told.trim()}`);
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

  /** `env`: what a container gets by `docker run -e`. */
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
      child.once('exit', (code) => reject(new Error(`it ended with ${code}: ${JSON.stringify(logs)}`)));
      createInterface({ input: child.stdout }).on('line', (line) => {
        logs.push(JSON.parse(line));
        if (logs.at(-1).msg === 'listening') resolve(logs.at(-1));
      });
    });
    return { child, logs, listening };
  }

  /** As `docker exec` does it: no shell, the environment and the user of the container, and the program found by the image's PATH. */
  run(words, env = {}) {
    return spawnSync(SETPRIV, this.#words(words), { env: { ...this.#env, ...env }, encoding: 'utf8' });
  }

  #words(words) {
    return ['--no-new-privs', CHROOT, `--userspec=${this.#image.user}`, '--groups=', this.#root, ...words];
  }
}

/** What an engine adds to an image, on top of it; then nobody can write, root included. */
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
  // What it cannot go back from comes last.
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
  expect('check of what cannot be used', trial.run(check, { D2_SIDECAR_LISTEN_PORT: 'x' }).status, EXIT_USAGE);
}

/** Of the rows such as "| liveness | `d2-sidecar health` | ... |", the words of each command. */
function toCommands(guide) {
  const found = [...guide.matchAll(/^\|[^|]*\| `(d2-sidecar [^`]+)` +\|/gm)].map(([, command]) => command.split(' '));
  if (!found.some((words) => words.includes('drain'))) throw new Error('no table of commands for a container is found');
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
