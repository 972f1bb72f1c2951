/** The documents of the project, parsed as far as tests need it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

export const ROOT = path.resolve(import.meta.dirname, '../../..');

export interface Piece {
  readonly place: string;
  readonly text: string;
}

export interface Fence extends Piece {
  readonly language: string;
}

export type Document = ReturnType<typeof parseDocument>;

/** All documents for readers of the repository. The changelog is about the past, but must link to existing files and keys. */
export function listDocuments(): readonly Document[] {
  const top = readdirSync(ROOT).filter((name) => name.endsWith('.md'));
  const deeper = ['docs', 'config'].flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => path.posix.join(folder, name)),
  );
  return [...top, ...deeper].sort().map(readDocument);
}

export function readDocument(file: string): Document {
  return parseDocument(file, readProject(file));
}

/** A file of the project, e.g. `docs/errors.md`. */
export function readProject(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8');
}

/** All sources in `src`, e.g. `proxy/relay/write-batch.ts`. */
export function listSources(): readonly string[] {
  const files = readdirSync(path.join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
  return files.filter((file) => /\.tsx?$/.test(file));
}

export function parseDocument(file: string, text: string) {
  const fences: Fence[] = [];
  const prose: string[] = [];
  let open: { mark: string; indent: number; language: string; line: number; lines: string[] } | undefined;
  text.split('\n').forEach((line, index) => {
    const [, indent = '', mark, language = ''] = /^( *)(`{3,})([\w-]*)\s*$/.exec(line) ?? [];
    if (open === undefined) {
      if (mark !== undefined) open = { mark, indent: indent.length, language, line: index + 2, lines: [] };
      prose.push(mark === undefined ? line : '');
      return;
    }
    prose.push('');
    if (mark === open.mark && language === '') {
      fences.push({ place: `${file}:${open.line}`, language: open.language, text: open.lines.join('\n') });
      open = undefined;
    } else open.lines.push(line.slice(Math.min(open.indent, line.length - line.trimStart().length)));
  });
  if (open !== undefined) throw new Error(`${file}:${open.line - 1}: a block of code that does not end`);
  const find = (pattern: RegExp) => prose.flatMap((line, index) => findIn(line, pattern, `${file}:${index + 1}`));
  return {
    ...{ file, text, fences },
    codes: find(/`([^`]+)`/g),
    // Links in code do not count.
    links: prose.flatMap((line, index) =>
      findIn(line.replace(/`[^`]*`/g, '`'), /\]\(([^()\s]+)\)|<(https?:[^>\s]+)>/g, `${file}:${index + 1}`),
    ),
    anchors: toAnchors(prose),
  };
}

function findIn(line: string, pattern: RegExp, place: string): Piece[] {
  return [...line.matchAll(pattern)].map((match) => ({ place, text: match[1] ?? match[2] ?? '' }));
}

/** Like GitHub's for headings: lower case, no punctuation, `-` for a space, and a number after a duplicate. */
function toAnchors(lines: readonly string[]): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const line of lines) {
    const [, heading] = /^#{1,6} +(.*?) *#*$/.exec(line) ?? [];
    if (heading === undefined) continue;
    const slug = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, '')
      .replaceAll(' ', '-');
    let anchor = slug;
    for (let number = 1; anchors.has(anchor); number += 1) anchor = `${slug}-${number}`;
    anchors.add(anchor);
  }
  return anchors;
}

export function isInProject(file: string): boolean {
  return existsSync(path.join(ROOT, file));
}
