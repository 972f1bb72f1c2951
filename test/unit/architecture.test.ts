import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const SRC = path.resolve(import.meta.dirname, '../../src');

/** From top to bottom: a room may import the rooms below it, and none above it. docs/architecture.md says what each is. */
const ROOMS = [
  'main.ts',
  'cli',
  'demo',
  'sidecar',
  'export',
  'monitor',
  'measure',
  'proxy',
  'protocol',
  'limits',
  'jvm',
  'metrics',
  'tls',
  'state',
  'config',
  'base',
];

/** Runs in a browser: imports no room, and no room imports it, except for what judges. */
const PAGE = 'page';
/** `d2-sidecar top` says what the page says, by the same rules. */
const OF_PAGE_IN_CLI = ['format', 'history', 'live-data', 'verdict'].map((name) => [
  'cli/top-lines.ts',
  `page/${name}.ts`,
]);

/** Ordered folders within a room: what each may import of the others. */
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  'cli/control': [],
  'cli/learn': [],
  'export/otlp': [],
  'export/access-log': [],
  'monitor/access': [],
  'measure/record': ['measure/classify', 'measure/sessions'],
  'measure/history': [],
  'measure/classify': [],
  'measure/sessions': [],
  'proxy/listener': ['proxy/relay', 'proxy/gateway', 'proxy/exchange'],
  'proxy/relay': ['proxy/upstream', 'proxy/exchange'],
  'proxy/gateway': ['proxy/upstream', 'proxy/exchange'],
  'proxy/upstream': ['proxy/exchange'],
  'proxy/exchange': [],
  'protocol/http1': [],
  'protocol/websocket': [],
  'protocol/bayeux': [],
  'config/rules': ['config'],
};

/** Rooms that the order allows, but a design decision forbids. */
const NEVER: readonly { room: string; not: readonly string[]; why: string }[] = [
  {
    room: 'proxy',
    not: ['jvm', 'metrics', 'state'],
    why: 'the data plane does not know that it is measured',
  },
  { room: 'protocol', not: ['jvm', 'metrics', 'tls', 'state'], why: 'it reads bytes, without sockets or a clock' },
  { room: 'limits', not: ['jvm', 'metrics', 'tls', 'state'], why: 'it counts what others tell it' },
  { room: 'metrics', not: ['tls'], why: 'it is a library and knows no HTTP' },
];

interface Import {
  readonly from: string;
  readonly to: string;
}

const FILES = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));
const IMPORTS = FILES.flatMap(importsOf);

function importsOf(file: string): Import[] {
  const specifiers = [...read(file).matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] as string);
  return specifiers.map((specifier) => {
    const to = specifier.startsWith('.') ? path.join(path.dirname(file), specifier) : specifier;
    return { from: file, to };
  });
}

function read(file: string): string {
  return readFileSync(path.join(SRC, file), 'utf8');
}

/** `proxy` for `proxy/relay/messages.ts`. */
function roomOf(file: string): string {
  return file.split('/')[0] ?? file;
}

/** `proxy/relay` for `proxy/relay/messages.ts`; the room for a file directly in it. */
function folderOf(file: string): string {
  return file
    .split('/')
    .slice(0, 2)
    .join('/')
    .replace(/\/[^/]*\.tsx?$/, '');
}

/** Imports between our own files. */
function within(): readonly Import[] {
  return IMPORTS.filter(({ to }) => FILES.includes(to));
}

/** Rows of the table of rooms in docs/architecture.md: room or folder, description, and the file to begin with. */
function documentedRooms(): readonly (readonly [name: string, is: string, first: string])[] {
  const text = readFileSync(path.join(SRC, '../docs/architecture.md'), 'utf8');
  const [, table = ''] = /\n## Rooms\n[^|]*\|.*\n\|.*\n((?:\|.*\n)+)/.exec(text) ?? [];
  return table
    .trim()
    .split('\n')
    .map((row) => row.split('|').map((cell) => cell.trim()))
    .map(
      ([, name = '', is = '', first = '']) => [name.replace(/^`|\/?`$/g, ''), is, first.replaceAll('`', '')] as const,
    );
}

/** The first comment of a file, in one line. */
function headOf(text: string): string {
  return (/\/\*\*(.*?)\*\//s.exec(text)?.[1] ?? '').replace(/\s*\n \* ?/g, ' ').trim();
}

describe('the rooms of src', () => {
  it('are all listed in this test', () => {
    expect([...new Set(FILES.map(roomOf))].sort()).toEqual([...ROOMS, PAGE].sort());
  });

  it('import only rooms below them', () => {
    const upwards = within().filter(
      ({ from, to }) => roomOf(to) !== PAGE && ROOMS.indexOf(roomOf(from)) > ROOMS.indexOf(roomOf(to)),
    );
    expect(upwards.map(({ from, to }) => `${from} must not import ${to}, which is above it`)).toEqual([]);
  });

  it('import nothing that a design decision forbids', () => {
    const told = NEVER.flatMap(({ room, not, why }) =>
      within()
        .filter(({ from, to }) => roomOf(from) === room && not.includes(roomOf(to)))
        .map(({ from, to }) => `${from} must not import ${to}: ${why}`),
    );
    expect(told).toEqual([]);
  });

  it('import their own folders in order only', () => {
    const wrong = within().filter(({ from, to }) => {
      const [folder, other] = [folderOf(from), folderOf(to)];
      const allowed = FOLDERS[folder];
      return allowed !== undefined && roomOf(from) === roomOf(to) && folder !== other && !allowed.includes(other);
    });
    expect(wrong.map(({ from, to }) => `${from} must not import ${to}`)).toEqual([]);
    // An entry for a removed folder would check nothing.
    const folders = new Set(FILES.map(folderOf));
    expect(Object.keys(FOLDERS).filter((folder) => !folders.has(folder))).toEqual([]);
  });

  it('use every allowed import between folders', () => {
    const gone = new Set(within().map(({ from, to }) => `${folderOf(from)} -> ${folderOf(to)}`));
    const arrows = Object.entries(FOLDERS).flatMap(([folder, others]) =>
      others.map((other) => `${folder} -> ${other}`),
    );
    expect(arrows.filter((arrow) => !gone.has(arrow))).toEqual([]);
  });

  it('have no import cycles', () => {
    expect(circles()).toEqual([]);
  });

  it('are those of docs/architecture.md, in the same order', () => {
    const rooms = documentedRooms();
    const names = rooms.map(([name]) => name);
    expect([...new Set(names.map((name) => roomOf(name)))]).toEqual([...ROOMS, PAGE]);
    expect(names.filter((name) => name.includes('/'))).toEqual(Object.keys(FOLDERS));
    expect(rooms.filter(([, is]) => is.length < 15)).toEqual([]);
  });

  it('each have a file to begin with, which says what the room is for and what it must not know or do', () => {
    const heads = documentedRooms()
      .filter(([name]) => name !== 'main.ts')
      .map(([name, , first]) => ({ file: `${name}/${first}`, head: headOf(read(`${name}/${first}`)) }));
    const bound = /\b(?:must not|never|nothing|neither|only|knows? (?:no|not)|no sockets|imports none)\b/;
    expect(heads.filter(({ head }) => head.length < 100 || !bound.test(head)).map(({ file }) => file)).toEqual([]);
  });

  it('import nothing of the page, which imports two packages that run in a browser', () => {
    const ofPage = IMPORTS.filter(({ from }) => roomOf(from) === PAGE).map(({ to }) => to);
    const foreign = ofPage.filter((to) => !to.startsWith('page/') && !['preact', 'preact/hooks', 'uplot'].includes(to));
    expect(ofPage.length).toBeGreaterThan(20);
    expect(foreign).toEqual([]);
    const others = IMPORTS.filter(({ from, to }) => to.startsWith('page/') && roomOf(from) !== PAGE);
    expect(others.map(({ from, to }) => [from, to])).toEqual(OF_PAGE_IN_CLI);
  });

  it('leave http-proxy to the gateway', () => {
    const importers = IMPORTS.filter(({ to }) => to === 'http-proxy').map(({ from }) => folderOf(from));
    expect(new Set(importers)).toEqual(new Set(['proxy/gateway']));
  });

  it('read the wall clock in base/clock.ts only', () => {
    expect(FILES.filter((file) => /\bDate\.now\b|new Date\(\)/.test(read(file)))).toEqual(['base/clock.ts']);
  });

  it('hold no file of more than 500 lines', () => {
    expect(FILES.filter((file) => read(file).split('\n').length > 500)).toEqual([]);
  });

  it('never use pipe, which drops errors', () => {
    expect(FILES.filter((file) => read(file).includes('.pipe('))).toEqual([]);
  });
});

/** Import cycles of any length; e.g. `a.ts -> b.ts -> a.ts`. */
function circles(): string[] {
  const imported = new Map(FILES.map((file) => [file, [] as string[]]));
  for (const { from, to } of within()) imported.get(from)?.push(to);
  const found: string[] = [];
  const seen = new Set<string>();
  const follow = (file: string, way: readonly string[]): void => {
    if (way.includes(file)) found.push([...way.slice(way.indexOf(file)), file].join(' -> '));
    if (seen.has(file)) return;
    seen.add(file);
    for (const to of imported.get(file) ?? []) follow(to, [...way, file]);
  };
  for (const file of FILES) follow(file, []);
  return found;
}
