import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT_FOLDER } from './folders.ts';
import { NODE_ENVIRONMENT, nodeProgram, SIDECAR } from './peers/node-peers.ts';

const SPOT = { port: 1, monitorPort: 2, upstreamPort: 3, folder: '/' };

describe('programs of Node', () => {
  it.each(['Dockerfile', 'config/systemd/d2-sidecar.service'])('are started with what %s sets', (file) => {
    const text = readFileSync(path.join(ROOT_FOLDER, file), 'utf8');
    for (const [name, value] of Object.entries(NODE_ENVIRONMENT)) expect(text).toContain(`${name}=${value}`);
  });

  it('are all started alike, the sidecar and the ones beside it', () => {
    expect(SIDECAR.command(SPOT).env).toEqual(NODE_ENVIRONMENT);
    expect(nodeProgram('raw-relay', 1, 3).env).toEqual(NODE_ENVIRONMENT);
  });
});
