import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT_FOLDER } from './folders.ts';
import { NODE_ARGS, NODE_ENVIRONMENT, nodeProgram, SIDECAR } from './peers/node-peers.ts';

const SPOT = { port: 1, monitorPort: 2, upstreamPort: 3, folder: '/' };

function textOf(file: string): string {
  return readFileSync(path.join(ROOT_FOLDER, file), 'utf8');
}

describe('programs of Node', () => {
  it.each(['Dockerfile', 'config/systemd/d2-sidecar.service'])('are started with what %s sets', (file) => {
    for (const [name, value] of Object.entries(NODE_ENVIRONMENT)) expect(textOf(file)).toContain(`${name}=${value}`);
  });

  it.each([
    ['Dockerfile', '#!/usr/local/bin/node'],
    ['scripts/deb.mjs', '#!/usr/bin/node'],
  ])('are started with the options that the first line has by %s', (file, interpreter) => {
    const [, options] = new RegExp(`${interpreter} ([^|']*)`).exec(textOf(file)) ?? [];
    expect(options?.split(' ')).toEqual(NODE_ARGS);
  });

  it('are all started alike, the sidecar and the ones beside it', () => {
    expect(SIDECAR.command(SPOT).env).toEqual(NODE_ENVIRONMENT);
    expect(nodeProgram('raw-relay', 1, 3).env).toEqual(NODE_ENVIRONMENT);
    for (const { args } of [SIDECAR.command(SPOT), nodeProgram('raw-relay', 1, 3)]) {
      expect(args.slice(0, NODE_ARGS.length)).toEqual(NODE_ARGS);
    }
  });
});
