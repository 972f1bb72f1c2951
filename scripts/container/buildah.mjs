/** Builds images with buildah(1), which runs the steps of a Dockerfile in a chroot, without an engine. All its data is in one folder. */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { tarFlags } from '../tar-flags.mjs';
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

  /**
   * `{ id, root, env, user, entrypoint, healthCheck }` of the image; `context` is the build folder; `args` are the values of
   * `--build-arg`; `epoch` is the time of the image, in seconds.
   */
  build({ file, context, args = {}, epoch }) {
    const values = Object.entries(args).map(([name, value]) => `--build-arg=${name}=${value}`);
    // The OCI format has no health check.
    const how = [
      '--format=docker',
      `--timestamp=${epoch}`,
      '--isolation=chroot',
      '--network=host',
      '--pull=never',
      '--quiet',
    ];
    const image = this.#run(['bud', ...how, ...values, `--file=${file}`, context]);
    const { config } = JSON.parse(this.#run(['inspect', '--type=image', image])).Docker;
    const root = this.#run(['mount', this.#run(['from', '--pull=never', image])]);
    return { id: image, root, ...toSettings(config) };
  }

  /**
   * Writes an image as a compressed archive for `docker load`, `podman load` and skopeo, with the name `tag`. The same image gives the same
   * archive: the random name of the build's container is left out.
   */
  async save({ id }, tag, epoch, file) {
    const place = path.join(this.#folder, 'archive');
    mkdirSync(place);
    this.#run(['push', '--quiet', id, `docker-archive:${place}.tar:${tag}`]);
    execFileSync('tar', ['--extract', `--file=${place}.tar`, `--directory=${place}`]);
    const [{ Config, RepoTags, Layers }] = JSON.parse(readFileSync(path.join(place, 'manifest.json'), 'utf8'));
    const { container, container_config, config, ...image } = JSON.parse(
      readFileSync(path.join(place, Config), 'utf8'),
    );
    const text = JSON.stringify({ ...image, config: { ...config, Hostname: '' } });
    const name = `${createHash('sha256').update(text).digest('hex')}.json`;
    writeFileSync(path.join(place, name), text);
    writeFileSync(path.join(place, 'manifest.json'), JSON.stringify([{ Config: name, RepoTags, Layers }]));
    const files = ['manifest.json', name, ...Layers];
    execFileSync('tar', [...tarFlags(epoch), `--file=${place}.tar`, `--directory=${place}`, ...files]);
    await pipeline(createReadStream(`${place}.tar`), createGzip({ level: 9 }), createWriteStream(file));
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
