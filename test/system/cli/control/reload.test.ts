import { once } from 'node:events';
import net from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SidecarError } from '../../../../src/base/errors.ts';
import { requestReload } from '../../../../src/cli/control/control-client.ts';
import { MAX_ANSWER_BYTES } from '../../../../src/cli/control/protocol.ts';
import { reload } from '../../../../src/cli/reload.ts';
import { ControlStand, NotingTarget } from '../../../support/cli/control/stand.ts';

let stand: ControlStand;
let target: NotingTarget;
beforeEach(() => {
  stand = new ControlStand();
  target = new NotingTarget();
});
afterEach(() => stand.dispose());

async function run(): Promise<{ code: number; out: string; err: string }> {
  const { path } = await stand.open('4711.sock', target);
  let [out, err] = ['', ''];
  const output = {
    out: (text: string) => {
      out += text;
    },
    err: (text: string) => {
      err += text;
    },
  };
  const code = await reload({ flags: { control: path } }, {}, output);
  return { code, out, err };
}

describe('reload over the control socket', () => {
  it('reports which keys are in force, and which wait for a restart', async () => {
    target.reloadAnswer = { kind: 'applied', changed: ['rest.rules', 'log.level'], waiting: ['listen.port'] };
    expect(await run()).toEqual({
      ...{ code: 0, err: '' },
      out: 'd2-sidecar 4711 has read its configuration again, changed: rest.rules, log.level\nneeds a restart: listen.port\n',
    });
    expect(target.told).toEqual(['reload']);
  });

  it.each([
    ['D2S_ERR_CONFIG', 64],
    ['D2S_ERR_TLS_FILE', 1],
    [undefined, 1],
  ])('reports what is wrong (%s), with exit code %i', async (code, exitCode) => {
    target.reloadAnswer = { kind: 'refused', code, problems: ['a: wrong', 'b: wrong, too'] };
    expect(await run()).toEqual({
      ...{ code: exitCode, out: '' },
      err: 'd2-sidecar: a: wrong\nd2-sidecar: b: wrong, too\nd2-sidecar: 4711 keeps its configuration\n',
    });
  });

  it('keeps its answer within its bound with many problems', async () => {
    const problems = Array.from({ length: 2_000 }, (_, index) => `rest.rules[${index}].name: ${'ž'.repeat(100)}`);
    target.reloadAnswer = { kind: 'refused', code: 'D2S_ERR_CONFIG', problems };
    const { err } = await run();
    expect(Buffer.byteLength(err)).toBeLessThan(MAX_ANSWER_BYTES);
    expect(err).toMatch(/\nd2-sidecar: 19\d\d more, which the log of the sidecar lists\n/);
  });

  it('is refused by a sidecar that does not know it', async () => {
    const path = stand.at('a.sock');
    const server = net.createServer((socket) => {
      socket.on('data', () => socket.end('{"kind":"refused","reason":"unknown command"}\n'));
    });
    server.listen(path);
    await once(server, 'listening');
    await expect(requestReload(path)).rejects.toMatchObject({
      code: 'D2S_ERR_CONTROL',
      message: `${path}: unknown command`,
    });
    server.close();
  });

  it('refuses an answer without a reload', async () => {
    const server = await stand.open('a.sock', target);
    target.reloadAnswer = { kind: 'applied', changed: 'rest.rules', waiting: [] } as never;
    await expect(requestReload(server.path)).rejects.toBeInstanceOf(SidecarError);
  });
});
