import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT_FOLDER } from '../../../bench/load/folders.ts';
import { NODE_ARGS, NODE_ENVIRONMENT, nodeProgram, SIDECAR } from '../../../bench/load/peers/node-peers.ts';

const SPOT = { port: 1, monitorPort: 2, upstreamPort: 3, folder: '/' };

function textOf(file: string): string {
  return readFileSync(path.join(ROOT_FOLDER, file), 'utf8');
}

describe('the Node peers', () => {
  it.each(['Dockerfile', 'config/systemd/d2-sidecar.service'])('start with the environment of %s', (file) => {
    for (const [name, value] of Object.entries(NODE_ENVIRONMENT))
      expect(textOf(file).replaceAll('"', '')).toContain(`${name}=${value}`);
  });

  it.each([
    ['Dockerfile', '#!/usr/local/bin/node'],
    ['scripts/deb.mjs', '#!/usr/bin/node'],
  ])('start with the options on the first line that %s writes', (file, interpreter) => {
    const [, options] = new RegExp(`${interpreter} ([^|']*)`).exec(textOf(file)) ?? [];
    expect(options?.split(' ')).toEqual(NODE_ARGS);
  });

  it('all start alike, the sidecar included', () => {
    for (const { args, env } of [SIDECAR.command(SPOT), nodeProgram('raw-relay', 1, 3)]) {
      expect(env).toEqual(NODE_ENVIRONMENT);
      expect(args.slice(0, NODE_ARGS.length)).toEqual(NODE_ARGS);
    }
  });
});
