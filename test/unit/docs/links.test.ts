/** Links, anchors and paths in the documents lead somewhere. */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import {
  type Document,
  isInProject,
  listDocuments,
  type Piece,
  ROOT,
  readDocument,
} from '../../support/docs/documents.ts';

const documents = listDocuments();
/** Names of all files, for documents that name one without its folder. */
const names = new Set(
  ['src', 'test', 'docs', 'config', 'scripts', '.ci']
    .flatMap((folder) => readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' }))
    .map((file) => path.basename(file)),
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

/** A file of the project: in one of its folders, or a source by its name. `*` and `<name>` match anything. */
const FILE = /^(?:\.\/)?((?:src|test|docs|config|scripts|\.ci)\/[\w./*<>-]*|(?:[\w-]+\/)*[\w.-]+\.(?:ts|tsx|mjs|md))$/;

function faultOfPath({ file }: Document, { place, text }: Piece): string[] {
  const [, named] = FILE.exec(text) ?? [];
  if (named === undefined) return [];
  const [fixed = ''] = named.split(/[*<]/, 1);
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
