/** docs/troubleshooting.md includes every code, and quotes the program word for word. */
import { expect, it } from 'vitest';
import { ERROR_CODES } from '../../../src/base/errors.ts';
import { type Document, listSources, readDocument, readProject } from '../../support/docs/documents.ts';

const lettersIn = (text: string) => text.match(/\p{L}/gu)?.length ?? 0;

const PAGE = readDocument('docs/troubleshooting.md');
/** Texts in the source, each as its fixed parts: the program fills in the gaps. */
const SAID: readonly (readonly string[])[] = listSources().flatMap((file) => toTexts(readProject(`src/${file}`)));

function toTexts(source: string): readonly (readonly string[])[] {
  const code = source.replace(/^\s*\/\*[\s\S]*?\*\/|(?:^|\s)\/\/ .*$/gm, '').replace(/(['`])\s*\+\s*\1/g, '');
  const texts = code.matchAll(/'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:\$\{[^}]*\}|[^`\\]|\\.)*)`/g);
  return [...texts].map(([, single, double, template]) =>
    (single ?? double ?? template ?? '').split(/\$\{[^}]*\}/).map((part) => part.replaceAll('\\', '')),
  );
}

/**
 * What a document quotes: the human-readable part of a log line, a body, or a line on standard error; and code in a sentence or table
 * that is a sentence itself: some words, but not a command, path or example.
 */
function quotedIn({ fences, codes }: Document): readonly string[] {
  const said = /"(?:msg|detail|reason)":"([^"]+)"|^d2-sidecar: (?:D2S_ERR_\w+: )?(.+)$/gm;
  const isSentence = (text: string) =>
    /^[A-Za-z][\w.’]*:? \w+ .*\w/.test(text) && !/^(?:d2-sidecar|curl|npm|openssl|ss|journalctl|docker) /.test(text);
  return [
    ...fences.flatMap(({ text }) => [...text.matchAll(said)].map(([, member, line]) => member ?? line ?? '')),
    ...codes.map(({ text }) => text).filter(isSentence),
  ];
}

/** Whether one of the texts in the source produces `quoted`. Of one that was cut off at a final `...`, the longest run of words counts. */
function isSaid(quoted: string): boolean {
  // Texts of the system or OpenSSL are not in our source.
  if (/^[A-Z][A-Z_0-9]+$/.test(quoted)) return true;
  if (!quoted.endsWith('...')) return SAID.some((parts) => fits(parts, quoted));
  const runs = quoted.split(/[^\p{L}\s,’-]+/u).sort((one, other) => other.length - one.length);
  return SAID.flat().some((part) => part.includes((runs[0] ?? '').trim()));
}

function fits(parts: readonly string[], text: string): boolean {
  if (parts.length === 1) return parts[0] === text;
  // A text of little but gaps would match anything.
  const letters = lettersIn(parts.join(''));
  if (letters < 9 || letters < lettersIn(text) / 5 || !text.startsWith(parts[0] ?? '')) return false;
  const escaped = parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${escaped.join('.*')}$`, 's').test(text);
}

it('docs/troubleshooting.md lists every error code', () => {
  expect(Object.keys(ERROR_CODES).filter((code) => !PAGE.text.includes(`\`${code}\``))).toEqual([]);
});

it('docs/troubleshooting.md quotes only texts of the source', () => {
  expect(quotedIn(PAGE).length).toBeGreaterThan(30);
  expect(quotedIn(PAGE).filter((quoted) => !isSaid(quoted))).toEqual([]);
});
