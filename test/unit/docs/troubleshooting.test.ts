/** docs/troubleshooting.md quotes the program word for word: its codes, messages and metrics, and includes every code. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { ERROR_CODES } from '../../../src/base/errors.ts';
import { type Document, parseDocument, ROOT, readDocument } from '../../support/docs/documents.ts';

const lettersIn = (text: string) => text.match(/\p{L}/gu)?.length ?? 0;

const PAGE = readDocument('docs/troubleshooting.md');
const FAMILIES = new Set(
  [
    ...readDocument('docs/prometheus.md').text.matchAll(/^\| `((?:d2|jvm|process|nodejs)_\w+)(?:\{[\w,]+\})?` +\|/gm),
  ].map(([, name]) => name),
);
/** Texts in the source, each as its fixed parts: the program fills in the gaps. */
const SAID: readonly (readonly string[])[] = readdirSync(path.join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file))
  .flatMap((file) => toTexts(readFileSync(path.join(ROOT, 'src', file), 'utf8')));

function toTexts(source: string): readonly (readonly string[])[] {
  const code = source.replace(/^\s*\/\*[\s\S]*?\*\/|(?:^|\s)\/\/ .*$/gm, '').replace(/(['`])\s*\+\s*\1/g, '');
  const texts = code.matchAll(/'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:\$\{[^}]*\}|[^`\\]|\\.)*)`/g);
  return [...texts]
    .map(([, single, double, template]) => (single ?? double ?? template ?? '').split(/\$\{[^}]*\}/))
    .filter((parts) => parts.some((part) => part !== ''));
}

/** The human-readable part of a log line, a body, or a line on standard error. */
function saidIn({ fences }: Document): readonly string[] {
  const said = /"(?:msg|detail|reason)":"([^"]+)"|^d2-sidecar: (?:D2S_ERR_\w+: )?(.+)$/gm;
  return fences.flatMap(({ text }) => [...text.matchAll(said)].map(([, member, line]) => member ?? line ?? ''));
}

/** Code in a sentence or table that is a sentence itself: some words, but not a command, path or example. */
function quotedIn({ codes }: Document): readonly string[] {
  return codes
    .map(({ text }) => text)
    .filter(
      (text) =>
        /^[A-Za-z][\w.’]*:? \w+ .*\w/.test(text) &&
        !/^(?:d2-sidecar|curl|npm|openssl|ss|journalctl|docker) /.test(text),
    );
}

/** Whether one of the texts in the source produces `quoted`; it was cut off at a final `...`. */
function isSaid(quoted: string): boolean {
  // Texts of the system or OpenSSL are not in our source.
  if (/^[A-Z][A-Z_0-9]+$/.test(quoted)) return true;
  const isCut = quoted.endsWith('...');
  const text = isCut ? quoted.slice(0, -3).trimEnd() : quoted;
  return SAID.some((parts) => fits(parts, text, isCut) || (isCut && fits(parts, quoted, false)));
}

function fits(parts: readonly string[], text: string, isCut: boolean): boolean {
  if (parts.length === 1 && parts[0] === text) return true;
  let at = 0;
  let letters = 0;
  for (const [index, part] of parts.entries()) {
    const found = index === 0 ? (text.startsWith(part) ? 0 : -1) : text.indexOf(part, at);
    const begun = found === -1 && isCut ? beginningOf(part, text, at, index === 0) : '';
    if (found === -1 && begun === '') return false;
    letters += lettersIn(found === -1 ? begun : part);
    at = found === -1 ? text.length : found + part.length;
    if (isCut && at === text.length) break;
  }
  const isWhole = isCut || at === text.length || parts.at(-1) === '';
  // A text of little but gaps would match anything, and so would a word.
  return isWhole && letters >= 9 && letters >= lettersIn(text) / 5;
}

/** How much of `part` is at the end of `text`, which was cut off within it. */
function beginningOf(part: string, text: string, from: number, isFirst: boolean): string {
  const last = isFirst ? 0 : text.length - 1;
  for (let at = from; at <= last; at += 1) if (part.startsWith(text.slice(at))) return text.slice(at);
  return '';
}

const wrongCodes = ({ text }: Document) =>
  (text.match(/D2S_ERR_[A-Z_]+[A-Z]/g) ?? []).filter((code) => !Object.hasOwn(ERROR_CODES, code));
/** Without commands: they search for beginnings of names, and are run (commands.test.ts). */
const wrongFamilies = ({ text }: Document) =>
  (text.replace(/```sh\n.*?```/gs, '').match(/\b(?:d2|jvm|process|nodejs)_[a-z_]+[a-z]\b/g) ?? []).filter(
    (name) => !FAMILIES.has(name),
  );
const wrongQuotes = (document: Document) =>
  [...saidIn(document), ...quotedIn(document)].filter((quoted) => !isSaid(quoted));

it('docs/troubleshooting.md lists every error code, and no unknown one', () => {
  expect(Object.keys(ERROR_CODES).filter((code) => !PAGE.text.includes(`\`${code}\``))).toEqual([]);
  expect(wrongCodes(PAGE)).toEqual([]);
});

it('docs/troubleshooting.md quotes only texts of the source, and names no unknown metric', () => {
  expect(saidIn(PAGE).length + quotedIn(PAGE).length).toBeGreaterThan(40);
  expect([wrongQuotes(PAGE), wrongFamilies(PAGE)]).toEqual([[], []]);
});

it.each([
  ['a code that was renamed', '`D2S_ERR_UPSTREAM_LAZY`', wrongCodes],
  ['a line on standard error', '```text\nd2-sidecar: listen: will not listen\n```', wrongQuotes],
  ['a detail that the source does not have', '```text\n{"detail":"The upstream was tired."}\n```', wrongQuotes],
  ['a message in a table', '| `the state file is denied: counting starts anew` | |', wrongQuotes],
  ['a message with an ellipsis', '| `There is no JVM to be seen: ...` | |', wrongQuotes],
  ['a metric', '`d2_sidecar_tiredness_total`', wrongFamilies],
])('this test reports %s', (_, text, find) => {
  expect(find(parseDocument('docs/made-up.md', text))).toHaveLength(1);
});

it('this test accepts texts of the source', () => {
  const page = parseDocument(
    'docs/made-up.md',
    '`the JVM cannot be read` and `heads of requests are larger: answering 431`',
  );
  expect([quotedIn(page).length, wrongQuotes(page)]).toEqual([2, []]);
});
