/** Applications of a real Tomcat that trust loopback: what others can reach, and the remedies of docs/tomcat.md. Needs `tomcat10`. */
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { deferTo, temporaryFolder } from '../support/deferred.ts';
import { Random } from '../support/fuzz/random.ts';
import { portOf, send } from '../support/net.ts';
import { isAvailable } from '../support/programs.ts';
import { type SidecarProcess, startConfigured } from '../support/sidecar-process.ts';
import { hasTomcat, startTomcat, type Tomcat } from '../support/tomcat/tomcat.ts';
import { OUTSIDE_ADDRESS } from '../support/wire/outside-address.ts';

const canRun = hasTomcat() && isAvailable('an address besides loopback', OUTSIDE_ADDRESS !== undefined);
const WEBAPP = fileURLToPath(new URL('../support/tomcat/loopback-webapp', import.meta.url));
const TOMCAT_GUIDE = readFileSync(new URL('../../docs/tomcat.md', import.meta.url), 'utf8');
const VARIANTS = 600;
const AT_A_TIME = 16;

const defer = deferTo(afterAll);
const deferEach = deferTo(afterEach);
let sidecar: SidecarProcess;

/** `manager` and `host-manager` trust loopback; `smartWeb` answers every client. */
async function startTrusting(valve?: string): Promise<Tomcat> {
  const open = join(temporaryFolder(defer), 'open');
  cpSync(join(WEBAPP, 'WEB-INF'), join(open, 'WEB-INF'), { recursive: true });
  const trusting = ['manager', 'host-manager'].map((context) => ({ webapp: WEBAPP, context }));
  return await startTomcat(defer, [...trusting, { webapp: open, context: 'smartWeb' }], valve);
}

/** Clients of this machine's other address count as clients of another machine. */
async function startOpen({ port }: Tomcat, config: object): Promise<SidecarProcess> {
  const open = { listen: { host: '0.0.0.0' }, jvm: { source: 'none' } };
  sidecar = await startConfigured(deferEach, `http://127.0.0.1:${port}/smartWeb`, { ...open, ...config });
  return sidecar;
}

async function ask(port: number, target: string, fields: object = {}, localAddress = '127.0.0.1') {
  const headers = { host: 'plant.example', ...fields };
  const answer = await send(port, target, { headers, localAddress });
  const isOfSidecar = /^d2-sidecar/.test(String(answer.headers['proxy-status']));
  return { status: answer.status, isOfSidecar, text: answer.body };
}

const askFromOutside = (target: string, fields = {}) => ask(portOf(sidecar.listen), target, fields, OUTSIDE_ADDRESS);

function reached({ status, text }: Awaited<ReturnType<typeof ask>>): string | undefined {
  return status === 200 ? /^reached (\S*)/.exec(text)?.[1] : undefined;
}

/** Besides the variants below. */
const TABLE: readonly string[] = [
  ...'/manager/html?a=b /x/..;b=c/manager;d/ /manager;jsessionid=1 /smartWeb/../host-manager /x%5c..%5cmanager/'.split(
    ' ',
  ),
  ...'/x\\..\\manager/ /../manager/ /Manager/ /manager%20/ /manager%00/ /%c0%ae%c0%ae/manager/ manager/ *'.split(' '),
];

const BEFORE = '/ // /./ /x/../ /%2e/ /;a/ /x/..;b/ /;%2fb/ /x;%5c/%2e%2e/ /x//../ /%2E;/'.split(' ');
const ODD = ['\\', '%5c', '/%2f', '/..%2f', '/%zz/', '/%ff/../', '/x;y;z/../', '/smartWeb/../', '/manager/..;/'];
const BEHIND = ['', '/', '/html', ';a', ';a=b/html', '/../', '?x', '/;', '/./', '%2f', '%3b', '/%2e%2e/smartWeb'];

function variant(random: Random): string {
  const escaped = (text: string) =>
    [...text].map((char) => (random.below(6) === 0 ? `%${char.charCodeAt(0).toString(16)}` : char)).join('');
  const start = random.below(8) === 0 ? random.pick(['http://plant.example', 'HTTP://plant.example']) : '';
  let path = '';
  for (let left = 1 + random.below(3); left > 0; left -= 1) {
    path = path.replace(/\/$/, '') + random.pick(random.below(5) === 0 ? ODD : BEFORE);
  }
  return start + path + escaped(random.pick(['manager', 'host-manager'])) + random.pick(BEHIND);
}

describe.runIf(canRun)('a Tomcat whose applications trust loopback', () => {
  let tomcat: Tomcat;
  beforeAll(async () => {
    tomcat = await startTrusting();
  });

  it('is open to every client through a sidecar on its machine, which warns of it once', async () => {
    const { logs } = await startOpen(tomcat, {});
    expect(reached(await askFromOutside('/manager/html'))).toBe('/manager');
    const lines = () => logs.filter(({ msg }) => String(msg).includes('rest.deny'));
    const warning = { level: 'warn', msg: expect.stringMatching(/sees every client as loopback/) };
    await expect.poll(lines).toEqual([expect.objectContaining(warning)]);
  });

  it('is closed by rest.deny to clients of another address', async () => {
    const { logs } = await startOpen(tomcat, { rest: { deny: ['/manager', '/host-manager'] } });
    expect(logs.filter(({ level }) => level === 'warn')).toEqual([]);
    const random = new Random(20261123);
    const targets = [...new Set([...TABLE, ...Array.from({ length: VARIANTS }, () => variant(random))])];
    const wrong: string[] = [];
    let denied = 0;
    const look = async (target: string) => {
      const [direct, through] = await Promise.all([ask(tomcat.port, target), askFromOutside(target)]);
      const isTrusting = /manager$/.test(reached(direct) ?? '');
      if (isTrusting) denied += 1;
      const isRefused = through.status === 403 && through.isOfSidecar;
      if ((isTrusting && !isRefused) || /manager$/.test(reached(through) ?? '')) wrong.push(target);
    };
    const waiting = targets.values();
    await Promise.all(
      Array.from({ length: AT_A_TIME }, async () => {
        for (const target of waiting) await look(target);
      }),
    );
    expect(wrong).toEqual([]);
    expect(denied).toBeGreaterThan(VARIANTS / 4);
    expect(reached(await askFromOutside('/smartWeb/manager'))).toBe('/smartWeb');
    expect(reached(await ask(portOf(sidecar.listen), '/manager/html'))).toBe('/manager');
  });
});

describe.runIf(canRun)('a Tomcat with the RemoteIpValve of docs/tomcat.md', () => {
  const valve = /^ *<Valve className="org\.apache\.catalina\.valves\.RemoteIpValve"[^>]*\/>$/m.exec(TOMCAT_GUIDE)?.[0];
  const LOOPBACK = '127.0.0.1';
  const SPOOFED = { 'x-forwarded-for': [LOOPBACK] };
  let tomcat: Tomcat;
  beforeAll(async () => {
    tomcat = await startTrusting(valve);
  });

  it.each(['append', 'replace'])(
    'sees the real client despite forged fields, with forwarded: %s',
    async (forwarded) => {
      await startOpen(tomcat, { forwarded });
      for (const fields of [{}, SPOOFED])
        expect(await askFromOutside('/manager/html', fields)).toMatchObject({ status: 403, isOfSidecar: false });
      expect((await askFromOutside('/smartWeb/a', SPOOFED)).text).toContain(`from ${OUTSIDE_ADDRESS}`);
    },
  );
});
