import path from 'node:path';
import { expect, it } from 'vitest';
import { listSources, readProject } from '../support/docs/documents.ts';

const read = (file: string): string => readProject(`src/${file}`);
/** `proxy` for `proxy/relay/write-batch.ts`. */
const roomOf = (file: string): string => file.split('/')[0] ?? file;
/** `proxy/relay` for `proxy/relay/write-batch.ts`; the room for a file directly in it. */
const folderOf = (file: string): string => path.dirname(file).split('/').slice(0, 2).join('/');

/** The rooms of docs/architecture.md, from top to bottom, and their folders, e.g. `proxy/relay`. */
const [, TABLE = ''] = /\n## Rooms\n[^|]*\|.*\n\|.*\n((?:\|.*\n)+)/.exec(readProject('docs/architecture.md')) ?? [];
const NAMES = [...TABLE.matchAll(/^\| `([\w/.-]+?)\/?` \|/gm)].map(([, name = '']) => name);
const ROOMS = [...new Set(NAMES.map(roomOf))];
/** Runs in a browser: imports no room but the files that run anywhere, and the types of its data. Commands know them, too. */
const PAGE = 'page';
const PAGE_DATA = 'page/live-data.ts';
const RUN_ANYWHERE = ['base/definitions.ts', 'base/figures.ts'];

/** What a folder may import of the others in its room: no other one, unless it stands here. */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
  'measure/record': ['measure/comet', 'measure/classify', 'measure/sessions'],
  'measure/comet': ['measure/record', 'measure/classify', 'measure/sessions'],
  'measure/verdict': ['measure/history', 'measure/record'],
  'proxy/listener': ['proxy/relay', 'proxy/websocket', 'proxy/upstream', 'proxy/exchange'],
  'proxy/relay': ['proxy/upstream', 'proxy/exchange'],
  'proxy/websocket': ['proxy/upstream', 'proxy/exchange'],
  'proxy/upstream': ['proxy/exchange'],
  'config/rules': ['config'],
};

/** Rooms that the order allows, but a design decision forbids. */
const NEVER: readonly { room: string; not: readonly string[]; why: string }[] = [
  { room: 'proxy', not: ['jvm', 'metrics', 'state'], why: 'the data plane does not know that it is measured' },
  { room: 'protocol', not: ['jvm', 'metrics', 'tls', 'state'], why: 'it reads bytes, without sockets or a clock' },
  { room: 'limits', not: ['jvm', 'metrics', 'tls', 'state'], why: 'it counts what others tell it' },
  { room: 'metrics', not: ['tls'], why: 'it is a library and knows no HTTP' },
];

const FILES = listSources();
const IMPORTS = FILES.flatMap(importsOf);
/** Imports between our own files. */
const WITHIN = IMPORTS.filter(({ to }) => FILES.includes(to));

function importsOf(file: string) {
  const specifiers = [...read(file).matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] as string);
  return specifiers.map((specifier) => {
    const to = specifier.startsWith('.') ? path.join(path.dirname(file), specifier) : specifier;
    return { from: file, to };
  });
}

it('the rooms of src and their folders are those of docs/architecture.md', () => {
  expect([...new Set(FILES.map(roomOf))].sort()).toEqual([...ROOMS].sort());
  expect(NAMES.filter((name) => name.includes('/') && !FILES.some((file) => folderOf(file) === name))).toEqual([]);
});

it('a room imports only rooms below it', () => {
  const depthOf = (file: string) => ROOMS.indexOf(roomOf(file));
  const upwards = WITHIN.filter(
    ({ from, to }) =>
      from !== PAGE_DATA && roomOf(to) !== PAGE && !RUN_ANYWHERE.includes(to) && depthOf(from) > depthOf(to),
  );
  expect(upwards.map(({ from, to }) => `${from} must not import ${to}, which is above it`)).toEqual([]);
});

it('a room imports nothing that a design decision forbids', () => {
  const forbidden = NEVER.flatMap(({ room, not, why }) =>
    WITHIN.filter(({ from, to }) => roomOf(from) === room && not.includes(roomOf(to))).map(
      ({ from, to }) => `${from} must not import ${to}: ${why}`,
    ),
  );
  expect(forbidden).toEqual([]);
});

it('a folder imports the folders that its arrows name, all of them, and no other one of its room', () => {
  const between = WITHIN.map(({ from, to }) => ({ from, to, folder: folderOf(from), other: folderOf(to) })).filter(
    ({ folder, other }) => NAMES.includes(folder) && folder.includes('/') && folder !== other,
  );
  const wrong = between.filter(
    ({ folder, other }) => roomOf(folder) === roomOf(other) && !ARROWS[folder]?.includes(other),
  );
  expect(wrong.map(({ from, to }) => `${from} must not import ${to}`)).toEqual([]);
  const used = new Set(between.map(({ folder, other }) => `${folder} -> ${other}`));
  const arrows = Object.entries(ARROWS).flatMap(([folder, others]) => others.map((other) => `${folder} -> ${other}`));
  expect(arrows.filter((arrow) => !used.has(arrow))).toEqual([]);
});

it('no files import each other in a circle', () => {
  const found: string[] = [];
  const seen = new Set<string>();
  const follow = (file: string, way: readonly string[]): void => {
    if (way.includes(file)) found.push([...way.slice(way.indexOf(file)), file].join(' -> '));
    if (seen.has(file)) return;
    seen.add(file);
    for (const { from, to } of WITHIN) if (from === file) follow(to, [...way, file]);
  };
  for (const file of FILES) follow(file, []);
  expect(found).toEqual([]);
});

it('the page imports no room but the files that run anywhere, and two packages that run in a browser', () => {
  const ofPage = IMPORTS.filter(({ from }) => roomOf(from) === PAGE && from !== PAGE_DATA).map(({ to }) => to);
  const allowed = [...RUN_ANYWHERE, 'preact', 'preact/hooks', 'uplot'];
  const foreign = ofPage.filter((to) => !to.startsWith('page/') && !allowed.includes(to));
  expect(ofPage.length).toBeGreaterThan(20);
  expect(foreign).toEqual([]);
  // The compiler knows Node's globals, for the types of the page's data; a browser has none.
  const ofNode = /(?<![\w'.])(?:process|Buffer|global|setImmediate|require) *[.([]/;
  expect(FILES.filter((file) => roomOf(file) === PAGE && ofNode.test(read(file)))).toEqual([]);
  // Types leave no code in the bundle.
  expect(read(PAGE_DATA).replace(/^(?:import|export) type .*$/gm, '')).not.toMatch(/\b(?:from|import) /);
  const others = IMPORTS.filter(({ from, to }) => to.startsWith('page/') && roomOf(from) !== PAGE);
  expect(others.map(({ from, to }) => `${from} ${to}`).sort()).toEqual(
    ['cli/control/protocol.ts', 'cli/top.ts'].map((from) => `${from} ${PAGE_DATA}`),
  );
  expect(IMPORTS.filter(({ from }) => RUN_ANYWHERE.includes(from))).toEqual([]);
});

it('only websocket/ imports http-proxy', () => {
  const importers = IMPORTS.filter(({ to }) => to === 'http-proxy').map(({ from }) => folderOf(from));
  expect(new Set(importers)).toEqual(new Set(['proxy/websocket']));
});

it.each<[string, (text: string) => boolean, string[]]>([
  ['reads the wall clock except base/clock.ts', (text) => /\bDate\.now\b|new Date\(\)/.test(text), ['base/clock.ts']],
  [
    'asks for the system or the user except base/platform/',
    (text) => /process\.platform|\bgete?uid\b|os\.platform/.test(text),
    ['base/platform/platform.ts'],
  ],
  ['uses pipe, which drops errors', (text) => text.includes('.pipe('), []],
  ['has more than 500 lines', (text) => text.split('\n').length > 500, []],
])('no file %s', (_, isSo, exceptions) => {
  expect(FILES.filter((file) => isSo(read(file))).sort()).toEqual(exceptions);
});
