import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { health } from '../../../src/cli/ask-sidecar.ts';
import { ControlStand, NotingTarget, Printed } from '../../support/cli/control/stand.ts';
import { startApplication } from '../../support/net.ts';

const stand = new ControlStand();
let printed: Printed;
beforeEach(() => {
  printed = new Printed();
});

const ask = (control: string, checksReadiness: boolean) =>
  health({ flags: { control }, checksReadiness, monitor: undefined }, {}, printed);

describe('health, over the control socket', () => {
  it('distinguishes life from readiness while draining', async () => {
    const target = new NotingTarget(7);
    const { path } = await stand.open('a.sock', target);
    expect([await ask(path, false), await ask(path, true)]).toEqual([0, 0]);
    expect(printed.stderr).toBe('');
    target.drain();
    expect([await ask(path, false), await ask(path, true)]).toEqual([0, 1]);
    const [alive, ready, ...rest] = printed.stdout.trimEnd().split('\n');
    expect([alive, ready]).toEqual(['d2-sidecar 7 is alive: serving', 'd2-sidecar 7 is ready: serving']);
    expect(rest).toEqual(['d2-sidecar 7 is alive: draining']);
    expect(printed.stderr).toBe('d2-sidecar: d2-sidecar 7 is not ready: draining\n');
  });

  it('reports why a serving sidecar is not ready', async () => {
    const target = new NotingTarget(7);
    target.isReady = () => Promise.resolve(false);
    const { path } = await stand.open('a.sock', target);
    expect(await ask(path, true)).toBe(1);
    expect(printed.stderr).toBe('d2-sidecar: d2-sidecar 7 is not ready: its upstream cannot be reached\n');
  });
});

describe('health, over HTTP', () => {
  const asked: string[] = [];

  async function askMonitor(checksReadiness: boolean, status: number, text: string): Promise<number> {
    asked.length = 0;
    const { port, close } = await startApplication(({ url = '' }, response) => {
      asked.push(url);
      response.writeHead(status).end(text);
    });
    onTestFinished(close);
    return await health({ flags: {}, checksReadiness, monitor: { host: '127.0.0.1', port } }, {}, printed);
  }

  it.each([
    [200, 'ok', false, 0, '/livez'],
    [503, 'unavailable', true, 1, '/readyz'],
  ])('accepts %i as an answer (%s, ready asked: %s), and exits with %i', async (status, word, isReady, code, path) => {
    expect(await askMonitor(isReady, status, `{"status":"${word}"}`)).toBe(code);
    expect(asked).toEqual([path]);
  });

  it.each([
    [404, '{"status":"ok"}'],
    [200, '<html>Welcome to the plant</html>'],
    [503, ''],
    [200, '{"status":"ok"}'.repeat(1_000)],
  ])('refuses %i as another server’s answer: %.40s', async (status, text) => {
    const message = expect.stringContaining(`/livez: answered ${status}, but not as a sidecar; is this its address`);
    await expect(askMonitor(false, status, text)).rejects.toMatchObject({ code: 'D2S_ERR_CONTROL', message });
  });

  it('fails if nothing listens', async () => {
    const failed = health({ flags: {}, checksReadiness: true, monitor: { host: '127.0.0.1', port: 1 } }, {}, printed);
    await expect(failed).rejects.toMatchObject({
      message: expect.stringMatching(/^127\.0\.0\.1:1\/readyz: cannot be reached: ECONNREFUSED; is a sidecar running/),
    });
  });
});
