import net from 'node:net';
import { Readable } from 'node:stream';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { requestReport, sendCommand } from '../../../../src/cli/control/control-client.ts';
import { ControlStand, NotingTarget } from '../../../support/cli/control/stand.ts';

const MAX_BYTES = 8_000_000;
const REFUSED = { code: 'D2S_ERR_CONTROL' };

class Reported extends NotingTarget {
  readonly asked: boolean[] = [];
  source: () => Readable = () => Readable.from(['{"a":', '1}\n']);
  report = (includesUsers: boolean): Promise<Readable> => {
    this.asked.push(includesUsers);
    return Promise.resolve(this.source());
  };
}

const stand = new ControlStand();
let target: Reported;
beforeEach(() => {
  target = new Reported();
});

describe('a report over the control socket', () => {
  it('arrives complete after the status, however large it is', async () => {
    const { path } = await stand.open('s.sock', target);
    expect(await requestReport(path, false)).toMatchObject({ status: { pid: 4711 }, text: '{"a":1}\n' });
    const large = `"${'é'.repeat(3_000_000)}"\n`;
    target.source = () => Readable.from([Buffer.from(large.slice(0, 1_000_001)), Buffer.from(large.slice(1_000_001))]);
    expect((await requestReport(path, true, MAX_BYTES)).text).toBe(large);
    expect(target.asked).toEqual([false, true]);
  });

  it('is refused when it has more bytes than allowed, though fewer characters', async () => {
    const { path } = await stand.open('s.sock', target);
    target.source = () => Readable.from([Buffer.from('é'.repeat(4_000_001))]);
    const message = `${path}: the report is larger than 8000000 bytes`;
    await expect(requestReport(path, false, MAX_BYTES)).rejects.toMatchObject({ ...REFUSED, message });
  });

  it('distinguishes a report that was cut off from a complete one', async () => {
    const { path } = await stand.open('s.sock', target);
    target.source = () => Readable.from(['{"a":1}']);
    const message = `${path}: the report was cut off`;
    await expect(requestReport(path, false)).rejects.toMatchObject({ ...REFUSED, message });
    function* broken() {
      yield '{"a":';
      throw new TypeError('never shown');
    }
    target.source = () => Readable.from(broken());
    await expect(requestReport(path, false)).rejects.toMatchObject(REFUSED);
    await vi.waitFor(() => expect(stand.log.lines).toEqual(['warn a report was cut off']));
    target.report = () => Promise.reject(new Error('never shown'));
    await expect(requestReport(path, false)).rejects.toMatchObject(REFUSED);
    expect(await sendCommand(path, 'status')).toMatchObject({ pid: 4711 });
  });

  it('is refused by a sidecar without reports', async () => {
    const { path } = await stand.open('s.sock');
    const message = `${path}: this sidecar gives no reports`;
    await expect(requestReport(path, false)).rejects.toMatchObject({ message });
  });

  it('is closed when the client does not read it', async () => {
    const source = new Readable({ read: () => void source.push(Buffer.alloc(65_536, 'x')) });
    const isLetGo = new Promise((resolve) => source.once('close', resolve).on('error', () => undefined));
    target.source = () => source;
    const { path } = await stand.open('s.sock', target, 50);
    const client = net.connect(path).on('error', () => undefined);
    client.write('report\n');
    client.pause();
    await isLetGo;
    client.destroy();
  });
});

it('a client gives up on an answer with more bytes than allowed, though fewer characters', async () => {
  const path = await stand.openOther('s.sock', 'é'.repeat(40_000));
  await expect(sendCommand(path, 'status')).rejects.toMatchObject({
    message: `${path}: did not answer like a d2-sidecar`,
  });
});
