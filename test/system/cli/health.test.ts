import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { health } from '../../../src/cli/health.ts';
import { ControlStand, NotingTarget } from '../../support/cli/control/stand.ts';
import { listening } from '../../support/net.ts';

let stand: ControlStand;
let printed: { out: string; err: string };
beforeEach(() => {
  stand = new ControlStand();
  printed = { out: '', err: '' };
});
afterEach(() => stand.dispose());

const output = {
  out: (text: string) => {
    printed.out += text;
  },
  err: (text: string) => {
    printed.err += text;
  },
};

const ask = (control: string, isReadyAsked: boolean) =>
  health({ target: { control }, isReadyAsked, monitor: undefined }, {}, output);

describe('health, over the control socket', () => {
  it('exits with 0 for a serving sidecar', async () => {
    const { path } = await stand.open('a.sock', new NotingTarget(7));
    expect([await ask(path, false), await ask(path, true)]).toEqual([0, 0]);
    expect(printed).toEqual({ out: 'd2-sidecar 7 lives: serving\nd2-sidecar 7 is ready: serving\n', err: '' });
  });

  it('distinguishes life from readiness while draining', async () => {
    const target = new NotingTarget(7);
    const { path } = await stand.open('a.sock', target);
    target.drain();
    expect(await ask(path, false)).toBe(0);
    expect(await ask(path, true)).toBe(1);
    expect(printed.err).toBe('d2-sidecar: d2-sidecar 7 is not ready: draining\n');
  });

  it('reports why a serving sidecar is not ready', async () => {
    const target = new NotingTarget(7);
    target.isReady = () => Promise.resolve(false);
    const { path } = await stand.open('a.sock', target);
    expect(await ask(path, true)).toBe(1);
    expect(printed.err).toBe('d2-sidecar: d2-sidecar 7 is not ready: its upstream cannot be reached\n');
  });

  it('fails if nothing listens', async () => {
    await expect(ask(stand.at('none.sock'), false)).rejects.toMatchObject({ code: 'D2S_ERR_CONTROL' });
  });
});

describe('health, over HTTP', () => {
  let server: http.Server;
  let asked: string[];
  let status: number;
  beforeEach(async () => {
    asked = [];
    server = http.createServer((request, response) => {
      asked.push(request.url ?? '');
      response.writeHead(status).end();
    });
    await listening(server);
  });
  afterEach(() => server.close());

  const askMonitor = (isReadyAsked: boolean) => {
    const { port } = server.address() as AddressInfo;
    return health({ target: {}, isReadyAsked, monitor: { host: '127.0.0.1', port } }, {}, output);
  };

  it.each([
    [200, false, 0, '/livez'],
    [200, true, 0, '/readyz'],
    [503, true, 1, '/readyz'],
  ])('accepts %i as an answer (ready asked: %s), and exits with %i', async (answer, isReadyAsked, code, path) => {
    status = answer;
    expect(await askMonitor(isReadyAsked)).toBe(code);
    expect(asked).toEqual([path]);
  });

  it.each([404, 302])('refuses %i as another server’s answer', async (answer) => {
    status = answer;
    await expect(askMonitor(false)).rejects.toMatchObject({
      code: 'D2S_ERR_CONTROL',
      message: expect.stringContaining(`/livez: answered ${answer}, which is not the answer of a sidecar`),
    });
  });

  it('fails if nothing listens', async () => {
    const failed = health({ target: {}, isReadyAsked: true, monitor: { host: '127.0.0.1', port: 1 } }, {}, output);
    await expect(failed).rejects.toMatchObject({ message: '127.0.0.1:1/readyz: cannot be reached: ECONNREFUSED' });
  });
});
