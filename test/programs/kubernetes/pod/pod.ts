/**
 * A Pod of a manifest, as far as Linux goes without a container runtime: namespaces of network, mounts and processes, the tree of the
 * image, read-only, with the volumes in it, and the user, group and environment of the manifest. No seccomp, no limits of resources.
 */
import { type ChildProcess, type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { collect, type Ran, ROOT, run } from '../../../support/install/run.ts';
import { at, containerOf, type Json } from '../../../support/kubernetes/manifests.ts';
import { isAvailable } from '../../../support/programs.ts';
import { type PodParts, startTomcat } from './tomcat.ts';
import { type Contents, makeVolumes } from './volumes.ts';

/** Running a Pod here needs root and Linux. */
export const canRunPods = isAvailable(
  'Pods, as root',
  process.platform === 'linux' &&
    process.getuid?.() === 0 &&
    spawnSync('unshare', ['--net', '--mount', '--pid', '--fork', 'ip', 'link', 'set', 'lo', 'up']).status === 0,
);

export const POD_ADDRESS = '10.244.0.7';

export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly error?: string;
  readonly count?: number;
  readonly authorized?: readonly { readonly url: string; readonly authorization: string }[];
}

export class Pod {
  readonly volumes: ReadonlyMap<string, string>;
  readonly #spec: Json;
  readonly #folder = mkdtempSync('/tmp/d2s-pod-');
  readonly #inside: ChildProcessByStdio<Writable, Readable, null>;
  readonly #containers: Container[] = [];
  #tomcat: ChildProcess | undefined;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #questions = 0;

  constructor(spec: Json, contents: Contents) {
    this.#spec = spec;
    this.volumes = makeVolumes(this.#folder, spec, contents);
    const script = `ip link set lo up && ip address add ${POD_ADDRESS}/32 dev lo && exec "$@"`;
    const inside = path.join(import.meta.dirname, 'inside.mjs');
    this.#inside = spawn('unshare', ['--net', 'sh', '-c', script, 'sh', process.execPath, inside], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    createInterface({ input: this.#inside.stdout }).on('line', (line) => {
      const { id, ...answer } = JSON.parse(line);
      this.#waiting.get(id)?.(answer);
      this.#waiting.delete(id);
    });
  }

  ask(op: string, more: Readonly<Record<string, unknown>> = {}): Promise<Answer> {
    const id = this.#questions++;
    this.#inside.stdin.write(`${JSON.stringify({ id, op, ...more })}\n`);
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  get(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.ask('get', { url, headers });
  }

  /** Starts the container of that name, with variables besides the manifest's. */
  async start(name: string, env: Readonly<Record<string, string>> = {}): Promise<Container> {
    const container = new Container(containerOf(this.#spec, name), this.#spec, await this.#parts(), env);
    this.#containers.push(container);
    return container;
  }

  async startTomcat(): Promise<void> {
    this.#tomcat = startTomcat(this.#spec, await this.#parts());
  }

  async #parts(): Promise<PodParts> {
    // Once it answers, it is in the network of the Pod.
    await this.ask('held');
    return { folder: this.#folder, network: this.#inside.pid as number, volumes: this.volumes };
  }

  async close(): Promise<void> {
    if (this.#tomcat !== undefined) await killNamespace(this.#tomcat);
    for (const container of this.#containers) await container.kill();
    const ended = once(this.#inside, 'exit');
    this.#inside.stdin.end();
    await ended;
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

export class Container {
  readonly #root: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #user: readonly string[];
  readonly #child: ChildProcess;
  readonly logs: Readonly<Record<string, unknown>>[] = [];
  readonly #said: () => string;
  readonly exited: Promise<number | null>;

  constructor(spec: Json, pod: Json, { folder, network, volumes }: PodParts, env: Readonly<Record<string, string>>) {
    const own = Object(at(spec, 'securityContext'));
    const { runAsUser = IMAGE_USER, runAsGroup = IMAGE_USER, fsGroup } = { ...Object(pod).securityContext, ...own };
    if (own.runAsNonRoot === true && runAsUser === 0) throw new Error('the container would run as root');
    const root = mkdtempSync(path.join(folder, 'root-'));
    this.#root = root;
    this.#user = [`--userspec=${runAsUser}:${runAsGroup}`, `--groups=${fsGroup ?? ''}`];
    this.#env = { ...IMAGE_ENV, ...toEnv(spec), ...env };
    const { command = ['d2-sidecar'], args = [] } = Object(spec);
    const script = [TREE, ...toMounts(spec, root, volumes), ...(own.readOnlyRootFilesystem ? [READ_ONLY] : [])];
    const namespaces = ['--mount', '--pid', '--fork', '--kill-child', '--propagation', 'private'];
    const shell = ['sh', '-euc', [...script, 'shift 3; exec "$@"'].join('\n'), 'sh', root, process.execPath, ROOT];
    const enter = [`--net=/proc/${network}/ns/net`, '--', 'unshare', ...namespaces, ...shell];
    this.#child = spawn('nsenter', [...enter, ...this.#inTree([...command, ...args])], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    createInterface({ input: this.#child.stdout! }).on('line', (line) => this.logs.push(JSON.parse(line)));
    this.#said = collect(this.#child.stderr);
    this.exited = once(this.#child, 'exit').then(([code]) => code as number | null);
  }

  /** Runs a command like kubelet's for a probe or hook; without a code if there is no such process. */
  async exec(command: readonly string[]): Promise<Ran> {
    const pid = firstProcessOf(this.#child);
    if (pid === undefined) return { code: null, stdout: '', stderr: `it has no process: ${this.#said()}` };
    return await run('nsenter', [`--target=${pid}`, '--mount', '--pid', '--net', '--', ...this.#inTree(command)]);
  }

  status(name: string): string | undefined {
    const text = readFileSync(`/proc/${firstProcessOf(this.#child)}/status`, 'utf8');
    return new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(text)?.[1];
  }

  signal(name: NodeJS.Signals): void {
    process.kill(firstProcessOf(this.#child) as number, name);
  }

  async kill(): Promise<void> {
    await killNamespace(this.#child);
    await this.exited;
  }

  #inTree(command: readonly string[]): readonly string[] {
    const env = Object.entries(this.#env).map(([name, value]) => `${name}=${value}`);
    const enter = ['setpriv', '--no-new-privs', 'chroot', ...this.#user, this.#root, '/usr/bin/env', '-i', ...env];
    return [...enter, ...command];
  }
}

/** The end of its first process ends a whole process namespace. Until there is one, only unshare can be ended. */
async function killNamespace(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  const pid = firstProcessOf(child);
  if (pid === undefined) child.kill('SIGKILL');
  else process.kill(pid, 'SIGKILL');
  await ended;
}

/** The first process of a namespace, by its number outside; undefined before and after it. */
function firstProcessOf({ pid }: ChildProcess): number | undefined {
  try {
    const [first = ''] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    return first === '' ? undefined : Number(first);
  } catch {
    // It has ended, and so has its parent.
    return undefined;
  }
}

const IMAGE_USER = 65532;
const DOCKERFILE = readFileSync(path.join(ROOT, 'Dockerfile'), 'utf8');
/** The variables of the Dockerfile: `ENV A=b \`, with a line for each; a value with spaces is quoted. */
const [LINES = ''] = /^ENV (?:.*\\\n)*.*$/m.exec(DOCKERFILE) ?? [];
const VARIABLES = LINES.matchAll(/(\w+)=(?:"([^"]*)"|(\S+))/g);
const IMAGE_ENV = Object.fromEntries([...VARIABLES].map(([, name, quoted, value]) => [name, quoted ?? value]));
const EXECUTABLE = readFileSync(path.join(ROOT, 'scripts/executable.mjs'), 'utf8');
/** Those of the image's executable that this Node.js accepts in NODE_OPTIONS. */
IMAGE_ENV.NODE_OPTIONS = Array.from(/^const FLAGS = .*$/m.exec(EXECUTABLE)?.[0].matchAll(/--[^']+/g) ?? [], String)
  .filter((option) => process.allowedNodeEnvironmentFlags.has(option.replace(/=.*/, '')))
  .join(' ');

/**
 * $1: where; $2: node; $3: the repository. Like the image of the Dockerfile, with the libraries of this machine, and with this Node.js and
 * dist/ instead of the executable. `env` is for the tests.
 */
const TREE = `
mount -t tmpfs -o mode=755 none "$1"
mkdir -p "$1"/usr/local/bin "$1"/usr/bin "$1"/usr/lib "$1"/app "$1"/dev "$1"/proc "$1"/etc "$1"/tmp
mount --bind /usr/lib "$1"/usr/lib
ln -s usr/lib "$1"/lib
if [ -d /usr/lib64 ]; then mkdir "$1"/usr/lib64; mount --bind /usr/lib64 "$1"/usr/lib64; ln -s usr/lib64 "$1"/lib64; fi
cp /usr/bin/env "$1"/usr/bin/env
touch "$1"/usr/local/bin/node; mount --bind "$2" "$1"/usr/local/bin/node
cp -R "$3"/package.json "$3"/dist "$1"/app
sed -i '1s|.*|#!/usr/local/bin/node --no-memory-reducer|' "$1"/app/dist/main.js
ln -s /app/dist/main.js "$1"/usr/local/bin/d2-sidecar
for name in null urandom; do touch "$1"/dev/$name; mount --bind /dev/$name "$1"/dev/$name; done
mount -t proc proc "$1"/proc
echo '127.0.0.1 localhost' > "$1"/etc/hosts
echo 'nonroot:x:65532:65532::/:/nonexistent' > "$1"/etc/passwd
`;
const READ_ONLY = 'mount -o remount,ro "$1"';

function toMounts(spec: Json, root: string, volumes: ReadonlyMap<string, string>): readonly string[] {
  const mounts = (Object(spec).volumeMounts ?? []) as readonly Record<string, Json>[];
  return mounts.map(({ name, mountPath, readOnly }) => {
    const volume = volumes.get(String(name));
    if (volume === undefined) throw new Error(`no volume ${String(name)}`);
    const place = path.join(root, String(mountPath));
    const remount = readOnly === true ? `; mount -o remount,bind,ro '${place}'` : '';
    return `mkdir -p '${place}'; mount --bind '${volume}' '${place}'${remount}`;
  });
}

function toEnv(spec: Json): Readonly<Record<string, string>> {
  const { env = [] } = Object(spec) as { readonly env?: readonly Json[] };
  return Object.fromEntries(env.map((one) => [at(one, 'name'), at(one, 'value')]));
}
