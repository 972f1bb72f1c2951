/** Links, anchors and paths in the documents lead somewhere. */
import { readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
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
/** This machine, placeholders, and reserved names (RFC 2606 §2). */
const EXAMPLES =
  /^(?:127\.0\.0\.1|0\.0\.0\.0|localhost|[\w-]+|[\w.-]+\.example|<[\w-]+>|\{\w+\}|\$\(?\w+\)?|\[[^\]]*\]|\.\.\.)$/;
/** The only other hosts that documents may link to: definitions, and makers of the programs mentioned. */
const OUTSIDE = ['opentelemetry.io', 'kubernetes.io', 'prometheus.io', 'github.com', 'www.rfc-editor.org'];

/** Names of all files, for documents that name one without its folder. */
const names = new Set(
  FOLDERS.flatMap((folder) => readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })).map((file) =>
    path.basename(file),
  ),
);

/** The fault of a link; undefined if none. */
function faultOfLink({ file, anchors }: Document, { place, text }: Piece): string | undefined {
  if (/^https?:/.test(text)) return undefined;
  const [target = '', anchor] = text.split('#', 2);
  const linked = target === '' ? file : path.posix.join(path.posix.dirname(file), target);
  if (target !== '' && (linked.startsWith('..') || !isInProject(linked)))
    return `${place}: ${text}: there is no ${linked}`;
  if (anchor === undefined) return undefined;
  const known = target === '' ? anchors : readDocument(linked).anchors;
  return known.has(anchor) ? undefined : `${place}: ${text}: no heading gives #${anchor}`;
}

/** Texts that look like a file of the project: in one of its folders, or a source by its name. `*` and `<name>` match anything. */
function toProjectFile(code: string): string | undefined {
  const text = code.replace(/^\.\//, '');
  if (/^(?:src|test|docs|config|scripts|\.ci)\/[\w./*<>-]*$/.test(text)) return text;
  if (/^(?:[\w-]+\/)*[\w.-]+\.(?:ts|tsx|mjs|md)$/.test(text)) return text;
  return /^(?:Dockerfile|package(?:-lock)?\.json|biome\.json|tsconfig[\w.]*\.json)$/.test(text) ? text : undefined;
}

function faultOfPath({ file }: Document, { place, text }: Piece): string | undefined {
  const named = toProjectFile(text);
  if (named === undefined) return undefined;
  const fixed = named.split(/[*<]/, 1)[0] ?? '';
  const whole = fixed === named ? named : path.posix.dirname(`${fixed}x`);
  const folders = ['', path.posix.dirname(file), 'src', 'config'];
  const isThere = folders.some((folder) => isInProject(path.posix.join(folder, whole)));
  return isThere || (!named.includes('/') && names.has(named)) ? undefined : `${place}: ${text}: there is no such file`;
}

describe('the documents', () => {
  it('are all found', () => {
    const files = documents.map(({ file }) => file);
    expect(files).toEqual(expect.arrayContaining(['README.md', 'SECURITY.md', 'CHANGELOG.md', 'docs/install.md']));
    expect(documents.flatMap(({ links }) => links).length).toBeGreaterThan(80);
  });

  it('link to existing files and headings', () => {
    const faults = documents.flatMap((document) => document.links.map((link) => faultOfLink(document, link)));
    expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
  });

  it('name existing files of the project', () => {
    const faults = documents.flatMap((document) => document.codes.map((code) => faultOfPath(document, code)));
    expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
  });

  it('are all linked from the README, directly or not', () => {
    const reached = new Set<string>();
    const follow = (file: string) => {
      if (reached.has(file) || !file.endsWith('.md') || !isInProject(file)) return;
      reached.add(file);
      for (const { text } of readDocument(file).links) {
        const target = text.split('#')[0] ?? '';
        if (target !== '' && !/^https?:/.test(text)) follow(path.posix.join(path.posix.dirname(file), target));
      }
    };
    follow('README.md');
    expect(documents.map(({ file }) => file).filter((file) => !reached.has(file))).toEqual([]);
  });

  it('contain no path of an author’s machine', () => {
    const own = [ROOT, homedir()].filter((folder) => folder.length > 1);
    const faults = documents.flatMap(({ file, text }) =>
      text.split('\n').flatMap((line, index) => {
        const isOwn =
          own.some((folder) => line.includes(`${folder}/`)) || /(?:^|[\s"'`(=])\/(?:home|Users|root)\//.test(line);
        return isOwn ? [`${file}:${index + 1}: ${line.trim()}`] : [];
      }),
    );
    expect(faults).toEqual([]);
  });

  it('name endpoints by their paths, and so do alerts', () => {
    const rules = {
      file: 'config/prometheus/rules.yml',
      text: readFileSync(`${ROOT}/config/prometheus/rules.yml`, 'utf8'),
    };
    const faults = [...documents, rules].filter(({ text }) => /\bendpoints? \d/i.test(text));
    expect(faults.map(({ file }) => file)).toEqual([]);
  });

  it('link to no host but this machine and examples', () => {
    const faults = documents.flatMap(({ file, text }) =>
      [...text.matchAll(/\b(?:https?|wss?):\/\/(?:[^\s/@`"')]*@)?(\[[^\]]*\]|[^\s/:`"')\][]+)/g)].flatMap(
        ([address, host = '']) => (EXAMPLES.test(host) || OUTSIDE.includes(host) ? [] : [`${file}: ${address}`]),
      ),
    );
    expect(faults).toEqual([]);
  });
});

describe('these tests', () => {
  const check = (text: string) => {
    const document = parseDocument('docs/made-up.md', text);
    return [
      ...document.links.map((link) => faultOfLink(document, link)),
      ...document.codes.map((code) => faultOfPath(document, code)),
    ].filter((fault) => fault !== undefined);
  };

  it.each([
    ['[a](absent.md)', 'absent.md: there is no docs/absent.md'],
    ['[a](tls.md#absent)', 'no heading gives #absent'],
    ['# One\n[a](#two)', 'no heading gives #two'],
    ['![a](images/absent.png)', 'there is no docs/images/absent.png'],
    ['[a](../../outside.md)', 'there is no ../outside.md'],
    ['`src/absent.ts`', 'src/absent.ts: there is no such file'],
    ['`absent.ts`', 'absent.ts: there is no such file'],
  ])('report what is wrong with %j', (text, fault) => {
    expect(check(text)).toEqual([expect.stringContaining(fault)]);
  });

  it('know the anchors of GitHub', () => {
    const { anchors } = parseDocument('a.md', '# `x` is: A_b, c-d (é)!\n## Same\n## Same\n```sh\n# none\n```\n');
    expect([...anchors]).toEqual(['x-is-a_b-c-d-é', 'same', 'same-1']);
  });

  it('separate code blocks from prose', () => {
    const { fences, codes, links } = parseDocument(
      'a.md',
      '`one`\n\n   ```sh\n   ls `x` [a](b)\n     two\n   ```\n`[c](d)`\n',
    );
    expect(fences).toEqual([{ place: 'a.md:4', language: 'sh', text: 'ls `x` [a](b)\n  two' }]);
    expect(codes.map(({ text }) => text)).toEqual(['one', '[c](d)']);
    expect(links).toEqual([]);
  });
});
