/**
 * Name templates for Comet messages, built from captures of the channel and from pointers into `data`. The template
 * `{/eventName}[.{/interfaceName}].{/rpcName}` gives `E.Demo.Test`, or `E.Demo.IMain.Test` when there is an interface.
 */
import { type JsonPointer, parsePointer, resolvePointer } from '../../protocol/bayeux/json-pointer.ts';
import { toId } from '../../protocol/bayeux/message.ts';

export interface NameTemplate {
  readonly parts: readonly NamePart[];
  /** Whether the name depends on `data` and may therefore differ between messages of one channel. */
  readonly needsData: boolean;
}

type NamePart =
  | { readonly kind: 'text'; readonly text: string }
  /** Index of a capture in the channel's pattern. */
  | { readonly kind: 'capture'; readonly index: number }
  | { readonly kind: 'pointer'; readonly pointer: JsonPointer }
  | { readonly kind: 'optional'; readonly parts: readonly NamePart[] };

/**
 * Parses a template. A string as the result is an error: it says what was expected. `{capture}` is one of `captures`,
 * `{/pointer}` a JSON Pointer (RFC 6901) into `data`; `[...]` is left out when a pointer inside it finds nothing.
 */
export function parseNameTemplate(text: string, captures: readonly string[]): NameTemplate | string {
  const parts: NamePart[] = [];
  for (const piece of text.split(BRACKETED)) {
    const inner = BRACKETED_WHOLE.exec(piece)?.[1];
    const read = parseParts(inner ?? piece, captures);
    if (typeof read === 'string') return read;
    if (inner === undefined) {
      parts.push(...read);
    } else {
      if (!hasPointer(read))
        return 'a pointer such as {/interfaceName} in each [...], since nothing else can be missing';
      parts.push({ kind: 'optional', parts: read });
    }
  }
  if (parts.length === 0) return NAME_FORM;
  return { parts, needsData: hasPointer(parts) };
}

/** Returns the name; undefined when a pointer outside brackets finds neither text nor number. Not a copy. */
export function toCometName(template: NameTemplate, captured: readonly string[], data: unknown): string | undefined {
  const name = joinParts(template.parts, captured, data);
  return name === '' ? undefined : name;
}

function joinParts(parts: readonly NamePart[], captured: readonly string[], data: unknown): string | undefined {
  let name = '';
  for (const part of parts) {
    const value = toPartText(part, captured, data);
    if (value === undefined) return undefined;
    name += value;
  }
  return name;
}

function toPartText(part: NamePart, captured: readonly string[], data: unknown): string | undefined {
  switch (part.kind) {
    case 'text':
      return part.text;
    case 'capture':
      return captured[part.index];
    case 'pointer':
      // An empty text counts as missing: `E.Demo.` would name a call that does not exist.
      return toId(resolvePointer(data, part.pointer)) || undefined;
    case 'optional':
      return joinParts(part.parts, captured, data) ?? '';
  }
}

function parseParts(text: string, captures: readonly string[]): NamePart[] | string {
  const parts: NamePart[] = [];
  for (const piece of text.split(BRACED)) {
    const inner = BRACED_WHOLE.exec(piece)?.[1];
    if (inner === undefined) {
      if (ODD_IN_TEXT.test(piece)) return NAME_FORM;
      if (piece !== '') parts.push({ kind: 'text', text: piece });
      continue;
    }
    const index = captures.indexOf(inner);
    const pointer = parsePointer(inner);
    if (index >= 0) parts.push({ kind: 'capture', index });
    else if (pointer !== undefined) parts.push({ kind: 'pointer', pointer });
    else return `captures of the channel (${toList(captures)}) and JSON Pointers into data such as {/objectName}`;
  }
  return parts;
}

function hasPointer(parts: readonly NamePart[]): boolean {
  return parts.some((part) => part.kind === 'pointer' || part.kind === 'optional');
}

function toList(captures: readonly string[]): string {
  return captures.length === 0 ? 'it has none' : captures.map((capture) => `{${capture}}`).join(', ');
}

const NAME_FORM = 'a name with captures and pointers such as {name} or {/eventName}[.{/interfaceName}].{/rpcName}';
const BRACKETED = /(\[[^[\]]*\])/;
const BRACKETED_WHOLE = /^\[([^[\]]*)\]$/;
const BRACED = /(\{[^{}]*\})/;
const BRACED_WHOLE = /^\{([^{}]*)\}$/;
const ODD_IN_TEXT = /[{}[\]]/;
