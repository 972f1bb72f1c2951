import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const SRC = path.resolve(import.meta.dirname, '../src');

/**
 * Which room may import which, as docs/architecture.md argues. Rooms not named here (`sidecar`) may import all. Single
 * files that everybody may import are in `COMMON`.
 */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
  main: ['sidecar', 'config', 'commands', 'demo', 'reload'],
  commands: ['config', 'control', 'classify', 'access', 'access-log', 'tls', 'state', 'reload', 'lifecycle'],
  config: [],
  // Compares keys, whatever they switch; what it makes of them is the sidecar's matter.
  reload: ['config'],
  // From the configuration to the options of the data plane.
  'live-options': ['dispatch', 'gateway', 'relay'],
  control: [],
  // The order of states; what is done in each is the sidecar's matter.
  lifecycle: [],
  http1: [],
  // Bytes of tables: whoever has some to save writes them himself.
  archive: [],
  state: ['archive'],
  metrics: ['archive'],
  limits: [],
  exchange: ['limits'],
  // Files that hold as they are at any time.
  'file-watch': [],
  tls: ['exchange', 'file-watch'],
  upstream: ['exchange', 'tls'],
  relay: ['upstream', 'exchange', 'http1', 'tls', 'limits'],
  gateway: ['upstream', 'exchange', 'http1', 'tls', 'websocket', 'limits'],
  dispatch: ['relay', 'gateway', 'exchange', 'http1', 'tls', 'limits'],
  bayeux: [],
  websocket: ['limits'],
  classify: ['http1', 'bayeux'],
  sessions: ['metrics', 'archive', 'limits'],
  // Shows what the monitoring port shows, by its means.
  report: ['monitor', 'jvm', 'sessions', 'config'],
  // One of the observers of calls that have ended.
  'access-log': ['record'],
  record: ['exchange', 'classify', 'sessions', 'metrics', 'limits', 'http1', 'bayeux', 'websocket', 'archive'],
  jvm: ['metrics'],
  access: ['limits', 'file-watch'],
  // Reads what others count; draws nothing, and knows nothing of who asks.
  history: ['metrics', 'jvm'],
  monitor: ['metrics', 'sessions', 'jvm', 'access', 'tls', 'limits', 'history'],
  // Sends what the monitor shows, from the same tables, and is told of calls; nobody imports it but the sidecar, and only when it is configured.
  otlp: ['monitor', 'metrics', 'record', 'http1'],
  demo: ['sidecar', 'config'],
  // Runs in the browser: what it knows of the server is what the monitoring port answers.
  page: [],
};
const COMMON = [
  'config/config.ts',
  'errors.ts',
  'clock.ts',
  'logger.ts',
  'log-output.ts',
  'log-ring.ts',
  'shown-text.ts',
  'trusted-file.ts',
];

interface Import {
  readonly from: string;
  readonly to: string;
}

function sourceFiles(): string[] {
  return readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));
}

function roomOf(file: string): string {
  const [first = ''] = file.split(path.sep);
  return first.replace(/\.tsx?$/, '');
}

function importsOf(file: string): Import[] {
  const text = readFileSync(path.join(SRC, file), 'utf8');
  const specifiers = [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] as string);
  return specifiers.map((specifier) => {
    const to = specifier.startsWith('.')
      ? path.relative(SRC, path.join(SRC, path.dirname(file), specifier))
      : specifier;
    return { from: file, to };
  });
}

/** Room, what it is, and what it may import, as docs/architecture.md has them. */
function documentedRooms(): readonly (readonly [room: string, is: string, mayImport: string])[] {
  const text = readFileSync(path.join(SRC, '../docs/architecture.md'), 'utf8');
  const [, table = ''] = /\n## Rooms\n\n\|.*\n\|.*\n((?:\|.*\n)+)/.exec(text) ?? [];
  return table
    .trim()
    .split('\n')
    .map((row) => row.split('|').map((cell) => cell.trim()))
    .map(([, room = '', is = '', mayImport = '']) => [room.replace(/^`|(?:\/|\.ts)?`$/g, ''), is, mayImport] as const);
}

describe('the rooms of src', () => {
  const imports = sourceFiles().flatMap(importsOf);

  it('are all known here', () => {
    const rooms = new Set(sourceFiles().map(roomOf));
    const known = new Set([
      ...Object.keys(ARROWS),
      'sidecar',
      ...COMMON.map((file) => file.replace(/\.ts$/, '').split('/')[0]),
    ]);
    expect([...rooms].filter((room) => !known.has(room))).toEqual([]);
  });

  it('import only along the arrows', () => {
    const wrong = imports.filter(({ from, to }) => {
      if (!/\.tsx?$/.test(to) || COMMON.includes(to)) return false;
      const [room, other] = [roomOf(from), roomOf(to)];
      const allowed = ARROWS[room];
      return room !== other && room !== 'sidecar' && !(allowed?.includes(other) ?? false);
    });
    const told = wrong.map(
      ({ from, to }) =>
        `${from} must not import ${to}: ${roomOf(from)} may only import ${ARROWS[roomOf(from)]?.join(', ')}`,
    );
    expect(told).toEqual([]);
  });

  it('go along every arrow', () => {
    const gone = new Set(imports.map(({ from, to }) => `${roomOf(from)} -> ${roomOf(to)}`));
    const arrows = Object.entries(ARROWS).flatMap(([room, others]) => others.map((other) => `${room} -> ${other}`));
    expect(arrows.filter((arrow) => !gone.has(arrow))).toEqual([]);
  });

  it('are those of docs/architecture.md, with the same arrows', () => {
    const rooms = documentedRooms();
    const named = (text: string) => [...text.matchAll(/`([\w-]+)`/g)].map(([, name = '']) => name).sort();
    expect(Object.fromEntries(rooms.map(([room, , mayImport]) => [room, named(mayImport)]))).toEqual({
      ...Object.fromEntries(Object.entries(ARROWS).map(([room, others]) => [room, [...others].sort()])),
      // All.
      sidecar: [],
    });
    expect(rooms.filter(([, is, mayImport]) => is.length < 20 && mayImport !== 'all')).toEqual([]);
  });

  it('leave the page to itself, with two packages that run in a browser', () => {
    const ofPage = imports.filter(({ from }) => roomOf(from) === 'page').map(({ to }) => to);
    const foreign = ofPage.filter((to) => !to.startsWith('page/') && !['preact', 'preact/hooks', 'uplot'].includes(to));
    expect(ofPage.length).toBeGreaterThan(20);
    expect(foreign).toEqual([]);
    const others = imports.filter(({ from, to }) => to.startsWith('page/') && roomOf(from) !== 'page');
    expect(others).toEqual([]);
  });

  it('leave http-proxy to the gateway', () => {
    const importers = imports.filter(({ to }) => to === 'http-proxy').map(({ from }) => roomOf(from));
    expect(new Set(importers)).toEqual(new Set(['gateway']));
  });

  it('read the wall clock in clock.ts only', () => {
    const readers = sourceFiles().filter((file) =>
      /\bDate\.now\b|new Date\(\)/.test(readFileSync(path.join(SRC, file), 'utf8')),
    );
    expect(readers).toEqual(['clock.ts']);
  });

  it('hold no file of more than 500 lines', () => {
    const long = sourceFiles().filter((file) => readFileSync(path.join(SRC, file), 'utf8').split('\n').length > 500);
    expect(long).toEqual([]);
  });

  it('pass no stream on with pipe, which drops errors', () => {
    const users = sourceFiles().filter((file) => readFileSync(path.join(SRC, file), 'utf8').includes('.pipe('));
    expect(users).toEqual([]);
  });
});
