/** Builds images with buildah(1), which runs the steps of a Dockerfile in a chroot, without an engine. All its data is in one folder. */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { layOutBase } from './base-image.mjs';

const BASE = 'localhost/base';
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

export class Buildah {
  #folder;

  constructor(folder) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  /** Returns the name of the image, for `--build-arg NODE_IMAGE=...`. */
  makeBase() {
    const container = this.#run(['from', 'scratch']);
    const env = Object.entries(layOutBase(this.#run(['mount', container])));
    this.#run(['config', ...env.flatMap(([name, value]) => ['--env', `${name}=${value}`]), container]);
    this.#run(['commit', '--quiet', '--rm', container, BASE]);
    return BASE;
  }

  /** `{ root, env, user, entrypoint, healthCheck }` of the image; `context` is the build folder; `args` are the values of `--build-arg`. */
  build({ file, context, args = {} }) {
    const values = Object.entries(args).map(([name, value]) => `--build-arg=${name}=${value}`);
    // The OCI format has no health check.
    const how = ['--format=docker', '--isolation=chroot', '--network=host', '--pull=never', '--quiet'];
    const image = this.#run(['bud', ...how, ...values, `--file=${file}`, context]);
    const { config } = JSON.parse(this.#run(['inspect', '--type=image', image])).Docker;
    const root = this.#run(['mount', this.#run(['from', '--pull=never', image])]);
    return { root, ...toSettings(config) };
  }

  /** Returns the standard output. */
  #run(args) {
    const place = ['root', 'runroot'].map((name) => `--${name}=${path.join(this.#folder, name)}`);
    const { status, stdout, stderr, error } = spawnSync('buildah', ['--storage-driver=vfs', ...place, ...args], {
      env: { ...process.env, TMPDIR: this.#folder },
      encoding: 'utf8',
      maxBuffer: MAX_OUTPUT_BYTES,
    });
    if (error !== undefined) throw error;
    if (status !== 0) throw new Error(`buildah ${args[0]} ended with ${status}\n${stdout}${stderr}`);
    return stdout.trim();
  }
}

/** Throws for a command that needs a shell, and for an unset variable in the Dockerfile, which buildah replaces by an empty text. */
function toSettings({ Entrypoint: entrypoint, Healthcheck: check, Env = [], Labels, User: user }) {
  if (!entrypoint?.length) throw new Error('the last stage has no ENTRYPOINT');
  if (entrypoint[0] === '/bin/sh') throw new Error('ENTRYPOINT: expected the form ["program", "argument"]');
  const [form, ...healthCheck] = check?.Test ?? ['CMD'];
  if (form !== 'CMD') throw new Error('HEALTHCHECK: expected the form CMD ["program", "argument"]');
  const env = new Map(Env.map((text) => text.split(/=(.*)/s)));
  for (const [name, value] of [...env, ...Object.entries(Labels ?? {})])
    if (value === '') throw new Error(`${name} is empty: a name in its value is not set`);
  return { env, user, entrypoint, healthCheck };
}
