import { ConfigError } from '../../base/errors.ts';
import type { RestRule } from '../../config/config.ts';
import { decodeText } from './path.ts';

export type CallKind = 'rpc' | 'sba' | 'object' | 'session';

export interface CompiledRule {
  readonly methods: readonly string[];
  readonly kind: CallKind | 'none';
  /** A text to compare with, or null for a capture. */
  readonly segments: readonly (string | null)[];
  /** Literal texts, and the indexes of the path segments to insert between them. */
  readonly name: readonly (string | number)[];
}

/**
 * Compiles rules. `key` names them in errors, e.g. `rest.rules` in `rest.rules[2].name`. Throws `D2S_ERR_CONFIG` for a
 * rule that could never match or could not name its calls: unknown or duplicate captures, an unknown kind, a name other
 * than `login` or `logout` for kind `session`.
 */
export function compileRules(rules: readonly RestRule[], key: string): CompiledRule[] {
  return rules.map((rule, index) => compileRule(rule, `${key}[${index}]`));
}

function compileRule(rule: RestRule, key: string): CompiledRule {
  checkMethods(rule.methods, `${key}.methods`);
  if (!KINDS.has(rule.kind)) refuse(`${key}.kind`, rule.kind, `one of ${[...KINDS].join(', ')}`);
  const captures = new Map<string, number>();
  const segments = rule.path.split('/').map((segment, index) => {
    const capture = CAPTURE.exec(segment)?.[1];
    if (capture === undefined) return compileLiteral(segment, rule.path, `${key}.path`);
    if (captures.has(capture)) refuse(`${key}.path`, rule.path, `the capture {${capture}} once`);
    captures.set(capture, index);
    return null;
  });
  checkName(rule, `${key}.name`);
  return { methods: rule.methods, kind: rule.kind, segments, name: compileName(rule.name, captures, `${key}.name`) };
}

function checkMethods(methods: readonly string[], key: string): void {
  if (methods.length === 0) refuse(key, '', 'at least one method');
  for (const method of methods) if (!METHOD.test(method)) refuse(key, method, 'a method in upper case, such as GET');
}

function compileLiteral(segment: string, path: string, key: string): string {
  const text = decodeText(segment);
  if (text === '')
    refuse(key, path, 'a path below rest.prefix, such as d2/rpc/{event}/{method}, without empty segments');
  if (text === '.' || text === '..') refuse(key, path, 'no dot segments: they are resolved before rules are tried');
  if (ODD_IN_LITERAL.test(segment)) {
    refuse(key, path, 'each segment to be a text or one capture such as {event}, without query or parameters');
  }
  return text;
}

function checkName(rule: RestRule, key: string): void {
  if (rule.kind === 'none') {
    if (rule.name !== '') refuse(key, rule.name, 'no name, since a rule of kind none names nothing');
  } else if (rule.kind === 'session') {
    if (rule.name !== 'login' && rule.name !== 'logout') refuse(key, rule.name, 'login or logout for kind session');
  } else if (rule.name === '') {
    refuse(key, rule.name, 'a name with captures of the path, such as {event}.{method}');
  }
}

function compileName(name: string, captures: ReadonlyMap<string, number>, key: string): (string | number)[] {
  const parts: (string | number)[] = [];
  for (const part of name.split(BRACED)) {
    const capture = CAPTURE.exec(part)?.[1];
    const index = capture === undefined ? undefined : captures.get(capture);
    if (index !== undefined) {
      parts.push(index);
    } else if (/[{}]/.test(part)) {
      const known = [...captures.keys()].map((known) => `{${known}}`).join(', ');
      refuse(key, name, `captures of the path only (${known === '' ? 'it has none' : known})`);
    } else if (part !== '') {
      parts.push(part);
    }
  }
  return parts;
}

function refuse(key: string, value: string, expected: string): never {
  throw new ConfigError(`${key}: ${JSON.stringify(value)} cannot be used; expected ${expected}`);
}

const KINDS: ReadonlySet<string> = new Set(['rpc', 'sba', 'object', 'session', 'none'] satisfies RestRule['kind'][]);
const CAPTURE = /^\{([A-Za-z_][A-Za-z0-9_]*)\}$/;
const BRACED = /(\{[^{}]*\})/;
const METHOD = /^[A-Z][A-Z0-9_-]*$/;
const ODD_IN_LITERAL = /[{}?;#]/;
