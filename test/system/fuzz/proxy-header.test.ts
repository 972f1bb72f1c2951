/** PROXY headers of random form, cut, mutated and split, each followed by a request with a number of its own. */
import { once } from 'node:events';
import net from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { normalizeAddress } from '../../../src/base/address.ts';
import { playsAll } from '../../support/effort.ts';
import { Random } from '../../support/fuzz/random.ts';
import { get, MODES, startLimitStand } from '../limits/limit-stand.ts';

/** FUZZ_CASES=1000000 for a long run; FUZZ_SEED to repeat one. */
const CASES = Number(process.env.FUZZ_CASES ?? (playsAll ? 10_000 : 2_000));
const SEED = Number(process.env.FUZZ_SEED ?? 20_261);
const AT_A_TIME = 100;
const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const PEER = '127.0.0.1';

/** The client that a connection with these first bytes has, and the bytes of its requests; undefined: it is closed. */
function readAsReference(bytes: Buffer): { client: string; rest: Buffer } | undefined {
  const line = /^PROXY ([^\r\n]*)\r\n/.exec(bytes.toString('latin1', 0, 107));
  if (line !== null) {
    const [family = '', from = '', to = '', ...ports] = (line[1] as string).split(' ');
    const rest = bytes.subarray(line[0].length);
    if (family === 'UNKNOWN') return { client: PEER, rest };
    const version = { TCP4: 4, TCP6: 6 }[family];
    const arePorts = ports.length === 2 && ports.every((port) => String(Number(port)) === port && +port < 65_536);
    if (net.isIP(from) !== version || net.isIP(to) !== version || from.includes('%') || !arePorts) return undefined;
    return /^\d+$/.test(ports.join('')) && !to.includes('%')
      ? { client: normalizeAddress(from) as string, rest }
      : undefined;
  }
  if (bytes.length < 16 || !bytes.subarray(0, 12).equals(SIGNATURE)) return undefined;
  const length = bytes.readUInt16BE(14);
  const [command, family] = [bytes[12] as number, bytes[13] as number];
  const rest = bytes.subarray(16 + length);
  const isKnown = (command === 0x20 || command === 0x21) && family >> 4 <= 3 && (family & 15) <= 2;
  if (!isKnown || length > 4_080 || bytes.length < 16 + length) return undefined;
  const addressBytes = command === 0x20 ? undefined : [undefined, 4, 16, undefined][family >> 4];
  if (addressBytes === undefined) return { client: PEER, rest };
  if ((family & 15) === 2 || length < 2 * addressBytes + 4) return undefined;
  const from = bytes.subarray(16, 16 + addressBytes);
  const words = [...from.toString('hex').matchAll(/.{4}/g)].join(':');
  return { client: normalizeAddress(addressBytes === 4 ? from.join('.') : words) as string, rest };
}

function header(random: Random): Buffer {
  const byte = () => random.below(256);
  const isOld = random.chance(0.5);
  const isIpv4 = random.chance(0.5);
  const address = () => Buffer.from(Array.from({ length: isIpv4 ? 4 : 16 }, byte));
  const ports = [random.below(65_536), random.below(65_536)] as const;
  if (isOld) {
    if (random.chance(0.1)) return Buffer.from(`PROXY UNKNOWN${random.pick(['', ' ffff:: ffff:: 1 2'])}\r\n`);
    const text = () => (isIpv4 ? address().join('.') : (address().toString('hex').match(/.{4}/g) ?? []).join(':'));
    return Buffer.from(`PROXY TCP${isIpv4 ? 4 : 6} ${text()} ${text()} ${ports.join(' ')}\r\n`);
  }
  const portBytes = Buffer.alloc(4);
  for (const [at, port] of ports.entries()) portBytes.writeUInt16BE(port, 2 * at);
  const further = Buffer.alloc(random.chance(0.3) ? random.below(300) : 0, byte());
  const content = Buffer.concat([address(), address(), portBytes, further]);
  const fixed = Buffer.from([random.chance(0.1) ? 0x20 : 0x21, isIpv4 ? 0x11 : 0x21, 0, 0]);
  fixed.writeUInt16BE(content.length, 2);
  return Buffer.concat([SIGNATURE, fixed, content]);
}

/** Half of them stay whole. */
function mutated(whole: Buffer, random: Random): Buffer {
  const bytes = Buffer.from(whole);
  for (let changes = random.chance(0.5) ? 0 : 1 + random.below(3); changes > 0; changes -= 1) {
    // Mostly where the header says what follows.
    const at = random.chance(0.6) ? random.pick([12, 13, 14, 15]) : random.below(bytes.length);
    const old = bytes[at] ?? 0;
    bytes[at] = random.pick([old ^ (1 << random.below(8)), old + random.below(9) - 4, random.below(256)]) & 255;
  }
  if (random.chance(0.8)) return bytes;
  const at = random.below(bytes.length);
  return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + random.below(4))]);
}

for (const mode of MODES.filter(({ isSecure }) => !isSecure)) {
  it(`${CASES} PROXY headers never give one client the bytes of another, and are never passed on (${mode.name})`, {
    timeout: 3_600_000,
  }, async () => {
    const random = new Random(SEED);
    /** What each connection of the server has received. */
    const received: { text: string }[] = [];
    const stand = await startLimitStand(
      mode,
      (base) => ({
        listen: { ...base.listen, trustedProxies: [PEER], clientAddress: 'proxy-protocol' },
        forwarded: 'replace',
      }),
      {
        onConnection: (socket) => {
          const one = { text: '' };
          received.push(one);
          socket
            .on('error', () => undefined)
            .on('data', (bytes) => {
              one.text += bytes.toString('latin1');
              if (one.text.endsWith('\r\n\r\n'))
                socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
            });
        },
      },
    );
    const connect = async (number: number): Promise<string | undefined> => {
      const request = get(`/smartWeb/${number}`, `X-Case: ${number}`);
      const whole = Buffer.concat([mutated(header(random), random), Buffer.from(request)]);
      const bytes = random.chance(0.1) ? whole.subarray(0, random.below(whole.length)) : whole;
      const cuts = Array.from({ length: random.below(5) }, () => random.below(bytes.length)).sort((a, b) => a - b);
      const socket = net.connect(stand.port, PEER).on('error', () => undefined);
      const closed = once(socket, 'close');
      socket.setNoDelay(true).resume();
      let from = 0;
      for (const cut of [...cuts, bytes.length]) {
        socket.write(bytes.subarray(from, cut));
        from = cut;
        await nextTurn();
      }
      socket.end();
      await closed;
      const expected = readAsReference(bytes);
      return expected?.rest.toString('latin1') === request ? expected.client : undefined;
    };

    const clients: (string | undefined)[] = [];
    while (clients.length < CASES) {
      const numbers = Array.from({ length: AT_A_TIME }, (_, at) => clients.length + at);
      clients.push(...(await Promise.all(numbers.map(connect))));
    }

    const seen = new Map<number, string>();
    for (const { text } of received) {
      expect(text, `seed ${SEED}`).not.toMatch(/PROXY|QUIT/);
      const [, number] = /^X-Case: (\d+)\r$/m.exec(text) ?? [];
      const [, address = ''] = /^X-Forwarded-For: (.*)\r$/m.exec(text) ?? [];
      // Anything else is a request that a wrong length has cut, and then the reference expects nothing of it.
      if (!text.startsWith(`GET /smartWeb/${number} HTTP/1.1\r\n`)) continue;
      expect(seen.has(Number(number)), `case ${number}, seed ${SEED}`).toBe(false);
      seen.set(Number(number), address);
    }
    for (const [number, client] of clients.entries()) {
      expect(seen.get(number), `case ${number}, seed ${SEED}`).toBe(client);
    }
    // The comparison is valid only if both outcomes occur often.
    expect(seen.size).toBeGreaterThan(CASES / 3);
    expect(CASES - seen.size).toBeGreaterThan(CASES / 4);
  });
}
