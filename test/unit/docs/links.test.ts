/** Links, anchors and paths in the documents lead somewhere. */
import { readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import {
  type Document,
  isInProject,
  listDocuments,
  type Piece,
  parseDocument,
  ROOT,
  readDocument,
} from '../../support/docs/documents.ts';

const documents = listDocuments();
const FOLDERS = ['src', 'test', 'docs', 'config', 'scripts', '.ci'];
/** Names of all files, for documents that name one without its folder. */
const names = new Set(
  FOLDERS.flatMap((folder) => readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })).map((file) =>
    path.basename(file),
  ),
);

function faultOfLink({ file, anchors }: Document, { place, text }: Piece): string[] {
  if (/^https?:/.test(text)) return [];
  const [target = '', anchor] = text.split('#', 2);
  const linked = target === '' ? file : path.posix.join(path.posix.dirname(file), target);
  if (target !== '' && (linked.startsWith('..') || !isInProject(linked)))
    return [`${place}: ${text}: there is no ${linked}`];
  if (anchor === undefined) return [];
  const known = target === '' ? anchors : readDocument(linked).anchors;
  return known.has(anchor) ? [] : [`${place}: ${text}: no heading gives #${anchor}`];
}

/** Texts that look like a file of the project: in one of its folders, or a source by its name. `*` and `<name>` match anything. */
function toProjectFile(code: string): string | undefined {
  const text = code.replace(/^\.\//, '');
  if (/^(?:src|test|docs|config|scripts|\.ci)\/[\w./*<>-]*$/.test(text)) return text;
  if (/^(?:[\w-]+\/)*[\w.-]+\.(?:ts|tsx|mjs|md)$/.test(text)) return text;
  return /^(?:Dockerfile|package(?:-lock)?\.json|biome\.json|tsconfig[\w.]*\.json)$/.test(text) ? text : undefined;
}

function faultOfPath({ file }: Document, { place, text }: Piece): string[] {
  const named = toProjectFile(text);
  if (named === undefined) return [];
  const fixed = named.split(/[*<]/, 1)[0] ?? '';
  const whole = fixed === named ? named : path.posix.dirname(`${fixed}x`);
  const folders = ['', path.posix.dirname(file), 'src', 'config'];
  const isThere = folders.some((folder) => isInProject(path.posix.join(folder, whole)));
  return isThere || (!named.includes('/') && names.has(named)) ? [] : [`${place}: ${text}: there is no such file`];
}

const faultsOf = (document: Document) => [
  ...document.links.flatMap((link) => faultOfLink(document, link)),
  ...document.codes.flatMap((code) => faultOfPath(document, code)),
];

it('the documents link to existing files and headings, and name existing files', () => {
  expect(documents.flatMap(({ links }) => links).length).toBeGreaterThan(80);
  expect(documents.flatMap(faultsOf)).toEqual([]);
});

it('the documents contain no path of an author’s machine', () => {
  const own = [ROOT, homedir()].filter((folder) => folder.length > 1).map((folder) => `${folder}/`);
  const isOwn = (line: string) =>
    own.some((folder) => line.includes(folder)) || /(?:^|[\s"'`(=])\/(?:home|Users|root)\//.test(line);
  expect(documents.flatMap(({ text }) => text.split('\n')).filter(isOwn)).toEqual([]);
});

it.each([
  ['[a](absent.md)', 'absent.md: there is no docs/absent.md'],
  ['[a](tls.md#absent)', 'no heading gives #absent'],
  ['# One\n[a](#two)', 'no heading gives #two'],
  ['[a](../../outside.md)', 'there is no ../outside.md'],
  ['`src/absent.ts`', 'src/absent.ts: there is no such file'],
  ['`absent.ts`', 'absent.ts: there is no such file'],
])('these tests report what is wrong with %j', (text, fault) => {
  expect(faultsOf(parseDocument('docs/made-up.md', text))).toEqual([expect.stringContaining(fault)]);
});

it('a document has the anchors of GitHub, and its code is no prose', () => {
  const { anchors } = parseDocument('a.md', '# `x` is: A_b, c-d (é)!\n## Same\n## Same\n```sh\n# none\n```\n');
  expect([...anchors]).toEqual(['x-is-a_b-c-d-é', 'same', 'same-1']);
  const text = '`one`\n\n   ```sh\n   ls `x` [a](b)\n     two\n   ```\n`[c](d)`\n';
  const { fences, codes, links } = parseDocument('a.md', text);
  expect(fences).toEqual([{ place: 'a.md:4', language: 'sh', text: 'ls `x` [a](b)\n  two' }]);
  expect([codes.map(({ text }) => text), links]).toEqual([['one', '[c](d)'], []]);
});
