/** Every file that the program writes, replaces or deletes: another user's links and files, and the user's own links. */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { writeAside } from '../../../src/base/write-aside.ts';
import { report } from '../../../src/cli/ask-sidecar.ts';
import { checkFiles } from '../../../src/cli/check.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { LineFile, shiftFiles } from '../../../src/export/access-log/line-file.ts';
import { ThreadDiagnosis } from '../../../src/jvm/thread-diagnosis.ts';
import { putAccessLine } from '../../../src/monitor/access/access-file.ts';
import { loadState, setAside } from '../../../src/state/restore-state.ts';
import { ControlStand, NotingTarget, Printed } from '../../support/cli/control/stand.ts';
import { ManualClock } from '../../support/clock.ts';
import { giveToOther } from '../../support/other-user.ts';
import { recordingLogger } from '../../support/wire/recording-logger.ts';

const stand = new ControlStand();
const at = stand.at;
afterEach(() => vi.restoreAllMocks());

const isLink = (file: string) => lstatSync(file).isSymbolicLink();

const OTHERS_LINK = /is a symbolic link owned by uid \d+, expected the owner to be/;
const LINE = 'anna:metrics:sha256$x';

const NO_STATE = { applications: [], save: () => [], load: () => Promise.resolve() };

const write = (file: string) => writeAside(file, (handle) => handle.writeFile('new'));

/** One check of a diagnosis that dumps the threads; resolves to the warnings. */
async function dumpInto(folder: string): Promise<readonly object[]> {
  const { logger, logged } = recordingLogger();
  await new ThreadDiagnosis({
    config: { whenCallRunsMs: 1_000, folder, keep: 1, atMostEveryMs: 1_000 },
    dumpThreads: () => Promise.resolve('Full thread dump\n'),
    serverId: () => undefined,
    oldestCall: () => ({ kind: 'rpc', name: 'P.Report', seconds: 100 }),
    onDump: () => undefined,
    clock: new ManualClock(),
    logger,
  }).check();
  return logged.map(({ details }) => details);
}

async function writeReport(file: string): Promise<unknown> {
  const target = Object.assign(new NotingTarget(), { report: () => Promise.resolve(Readable.from(['{}\n'])) });
  const server = await stand.open('report.sock', target);
  const flags = { control: at('report.sock') };
  try {
    return await report({ kind: 'report', flags, file, includesUsers: false } as never, {}, new Printed());
  } finally {
    server.destroy();
  }
}

const WRITERS: [what: string, act: (file: string) => Promise<unknown>][] = [
  ['state.file', write],
  ['the users file of passwd', (file) => putAccessLine(file, LINE, () => undefined)],
  ['report --out', writeReport],
];

describe('a link of another user is refused, and what it leads to stays as it is', () => {
  /** A link in a folder that others may write, to `victim`. */
  function plant(kind: 'file' | 'folder', name = 'link'): { readonly link: string; readonly victim: string } {
    const [link, victim] = [at(name), at(`victim of ${name}`)];
    if (kind === 'file') writeFileSync(victim, 'precious', { mode: 0o600 });
    else mkdirSync(victim);
    symlinkSync(victim, link);
    giveToOther(link);
    return { link, victim };
  }

  it.each(WRITERS)('%s', async (_what, act) => {
    const { link, victim } = plant('file');
    await expect(act(link)).rejects.toThrow(OTHERS_LINK);
    expect([readFileSync(victim, 'utf8'), isLink(link)]).toEqual(['precious', true]);
    const folder = plant('folder', 'way');
    await expect(act(path.join(folder.link, 'file'))).rejects.toThrow(OTHERS_LINK);
    expect(readdirSync(folder.victim)).toEqual([]);
  });

  it('as the folder of thread dumps', async () => {
    const { link, victim } = plant('folder');
    writeFileSync(path.join(victim, 'threads-20200101T000000Z.txt'), 'precious');
    for (const folder of [link, path.join(link, 'below')]) {
      expect(await dumpInto(folder)).toMatchObject([{ reason: expect.stringMatching(OTHERS_LINK) }]);
    }
    expect(readdirSync(victim)).toEqual(['threads-20200101T000000Z.txt']);
  });

  it('as the state file that is read and set aside', async () => {
    const { link, victim } = plant('file');
    expect(await loadState(NO_STATE, link, new ManualClock())).toMatchObject({ kind: 'unreadable' });
    expect(await setAside(link, 'unreadable')).toBeUndefined();
    expect([existsSync(link), readFileSync(victim, 'utf8')]).toEqual([true, 'precious']);
  });

  it('as a rotated access log', async () => {
    const { link, victim } = plant('file', 'access.log.1');
    writeFileSync(at('access.log'), 'line\n');
    await expect(shiftFiles(at('access.log'), 1)).rejects.toThrow('is not a regular file');
    expect(isLink(link)).toBe(true);
    expect(readFileSync(victim, 'utf8')).toBe('precious');
  });

  it('in `check`, which names the key', async () => {
    const { link } = plant('folder');
    const state = JSON.stringify({ state: { file: path.join(link, 'state') } });
    const flags = { upstream: 'http://127.0.0.1:1', config: 'f' };
    const { config } = await loadConfig({ flags, env: {}, readFile: () => state });
    const { warnings } = await checkFiles(config);
    expect(warnings).toContainEqual(expect.stringMatching(new RegExp(`^state.file: .*${OTHERS_LINK.source}`)));
  });
});

describe('a file of another user stays', () => {
  it.each(['file', 'file.saving'])('as the state file: %s', async (name) => {
    writeFileSync(at(name), 'precious', { mode: 0o600 });
    giveToOther(at(name));
    await expect(write(at('file'))).rejects.toThrow(/belongs to uid \d+, expected the owner to be/);
    expect(readFileSync(at(name), 'utf8')).toBe('precious');
    if (name !== 'file') return;
    const refused = { kind: 'foreign', message: expect.stringMatching(/^it belongs to uid \d+/), isFile: false };
    expect(await loadState(NO_STATE, at(name), new ManualClock())).toMatchObject(refused);
  });

  it('as a thread dump beside our own', async () => {
    mkdirSync(at('dumps'));
    const foreign = path.join(at('dumps'), 'threads-20000101T000000Z.txt');
    writeFileSync(foreign, 'precious');
    giveToOther(foreign);
    await dumpInto(at('dumps'));
    expect(readFileSync(foreign, 'utf8')).toBe('precious');
  });

  it.each(['access.log', 'access.log.2'])('as a rotated access log: %s', async (name) => {
    for (const file of ['access.log', 'access.log.1']) writeFileSync(at(file), file);
    writeFileSync(at(name), 'precious');
    giveToOther(at(name));
    await expect(shiftFiles(at('access.log'), 2)).rejects.toThrow(/belongs to uid \d+/);
    expect(readFileSync(at(name), 'utf8')).toBe('precious');
    expect(existsSync(at('access.log'))).toBe(true);
  });
});

describe("the user's own link is followed, and stays a link", () => {
  function link(target: string, name = 'link'): string {
    mkdirSync(at('elsewhere'), { recursive: true });
    symlinkSync(target, at(name));
    return at(name);
  }

  it.each(WRITERS.slice(0, 2))('%s', async (what, act) => {
    const file = link('elsewhere/target');
    for (const when of ['created', 'replaced']) {
      await act(file);
      const text = readFileSync(path.join(at('elsewhere'), 'target'), 'utf8');
      expect([isLink(file), text], when).toEqual([true, what === 'state.file' ? 'new' : `${LINE}\n`]);
    }
    expect(readdirSync(at('elsewhere'))).toEqual(['target']);
  });

  it('report --out writes a new file, and refuses one that exists', async () => {
    await writeReport(link('elsewhere/report.json'));
    expect(readFileSync(path.join(at('elsewhere'), 'report.json'), 'utf8')).toBe('{}\n');
    await expect(writeReport(at('link'))).rejects.toThrow('already exists');
    expect(isLink(at('link'))).toBe(true);
  });

  it('a refused state file is set aside beside itself', async () => {
    const file = link('elsewhere/state');
    writeFileSync(path.join(at('elsewhere'), 'state'), 'nonsense');
    expect(await setAside(file, 'foreign')).toMatch(/elsewhere\/state\.refused-foreign$/);
    expect(isLink(file)).toBe(true);
    expect(readdirSync(at('elsewhere'))).toEqual(['state.refused-foreign']);
  });

  it('an access log that is rotated', async () => {
    const file = link('elsewhere/access.log');
    const counts = { written: 0, lost: 0, failures: 0, rotations: 0 };
    const log = new LineFile({ file, maxBytes: 10, keep: 2 }, counts, recordingLogger().logger);
    for (const [nth, line] of ['a long first line\n', 'a long second line\n'].entries()) {
      log.write(line);
      await vi.waitFor(() => expect(counts.written + counts.failures).toBeGreaterThan(nth));
    }
    await log.close(1_000);
    expect(counts).toMatchObject({ failures: 0, rotations: 2 });
    expect(isLink(file)).toBe(true);
    expect(readdirSync(at('elsewhere')).sort()).toEqual(['access.log', 'access.log.1', 'access.log.2']);
  });

  it('the links of a mounted secret', async () => {
    mkdirSync(at('..2026'));
    writeFileSync(path.join(at('..2026'), 'users'), '', { mode: 0o640 });
    chmodSync(at(''), 0o1777);
    link('..2026', '..data');
    const file = link('..data/users', 'users');
    await putAccessLine(file, LINE, () => undefined);
    expect(readFileSync(path.join(at('..2026'), 'users'), 'utf8')).toBe(`${LINE}\n`);
    expect([isLink(file), isLink(at('..data'))]).toEqual([true, true]);
  });
});
