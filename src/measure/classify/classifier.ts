/**
 * Classifies requests and Comet messages. This file maps a request line to its call:
 * `POST /smartWeb/api/rest/v0/d2/rpc/E.Demo/Test?x=1` is the call `E.Demo.Test` of kind `rpc` in the application
 * `smartWeb`. Rules are data (`default-rest-rules.ts`); config/rules/ compiles and matches them. This folder must not
 * know sockets, sessions or metrics.
 */

import { sanitizeText } from '../../base/shown-text.ts';
import type { Config } from '../../config/config.ts';
import { matchPattern } from '../../config/rules/pattern.ts';
import { type CompiledRestRule, compileRestRule, type RestRule } from '../../config/rules/rest-rules.ts';
import { detached } from '../../protocol/http1/text.ts';
import { DEFAULT_REST_RULES } from './default-rest-rules.ts';
import {
  type Context,
  createContexts,
  extractRawPath,
  isIrregularPath,
  parseConfigSegments,
  parseSegments,
  startsWith,
} from './path.ts';

export type CallKind = Exclude<RestRule['kind'], 'none'>;

export interface Call {
  /** As in the configuration, e.g. `smartWeb`; `''` is the root context. */
  readonly application: string;
  readonly kind: CallKind;
  /** A copy, e.g. `E.Demo.TestInOut`, `login`; hidden characters are U+FFFD (`sanitizeText`), so it is safe to display. */
  readonly name: string;
}

export type ClassifierConfig = Pick<Config, 'applications'> & { readonly rest: Omit<Config['rest'], 'deny'> };

/** Paths in the cache of a method. A full cache begins anew. */
export const MAX_CACHED_PATHS = 16_384;

/** Longest cached path, in bytes (one latin1 character each). Together with `MAX_CACHED_PATHS` it bounds the cache. */
export const CACHED_PATH_CHARS = 512;

/** A longer name is cut: a running call would keep 64 KiB. Statistics count names of half this length as `(other)`. */
const MAX_NAME_CHARS = 1_024;

export class Classifier {
  readonly #contexts: readonly Context[];
  readonly #prefix: readonly string[];
  /** Prefixes of all paths that can be calls, unless a path is irregular (`isIrregularPath`). */
  readonly #regularStarts: string[];
  readonly #methods = new Map<string, { readonly rules: CompiledRestRule[]; readonly cache: Map<string, Call> }>();

  constructor(config: ClassifierConfig) {
    this.#contexts = createContexts(config.applications);
    this.#prefix = parseConfigSegments(config.rest.prefix);
    this.#regularStarts = this.#contexts.map(({ segments }) => `/${[...segments, ...this.#prefix, ''].join('/')}`);
    const defaults = config.rest.defaultRules ? DEFAULT_REST_RULES : [];
    for (const rule of [...config.rest.rules, ...defaults]) this.#add(compileRestRule(rule));
  }

  get cachedPaths(): number {
    let size = 0;
    for (const { cache } of this.#methods.values()) size += cache.size;
    return size;
  }

  /** The call, if a rule matches; for a cached path the same object, in about 0.2 µs (test/bench/record.bench.ts). */
  classify(method: string, target: string): Call | undefined {
    const rules = this.#methods.get(method);
    if (rules === undefined) return undefined;
    const path = extractRawPath(target);
    if (path === undefined) return undefined;
    // The hash of a long path would cost more than the rest.
    const isCacheable = path.length <= CACHED_PATH_CHARS;
    const cached = isCacheable ? rules.cache.get(path) : undefined;
    if (cached !== undefined) return cached;
    const call = this.#match(rules.rules, path);
    // Only calls are cached, so that a scan of other paths cannot evict them.
    if (call !== undefined && isCacheable) {
      if (rules.cache.size === MAX_CACHED_PATHS) rules.cache.clear();
      rules.cache.set(detached(path), call);
    }
    return call;
  }

  /** Whether a request outside of all applications would be a call if its first segment were one. */
  isMisplaced(method: string, segments: readonly string[]): boolean {
    const rules = this.#methods.get(method)?.rules ?? [];
    const isBelow = startsWith(segments, this.#prefix, 1);
    const found = rules.find(
      ({ pattern, isBelowPrefix }) =>
        (!isBelowPrefix && matchPattern(pattern, segments, 1) !== undefined) ||
        (isBelow && matchPattern(pattern, segments, 1 + this.#prefix.length) !== undefined),
    );
    return found !== undefined && found.kind !== 'none';
  }

  #add(rule: CompiledRestRule): void {
    // Servers run HEAD as GET and drop the content (RFC 9110 §9.3.2), so a rule for GET also matches HEAD.
    const methods = rule.methods.includes('GET') ? [...rule.methods, 'HEAD'] : rule.methods;
    for (const method of new Set(methods)) {
      const known = this.#methods.get(method) ?? { rules: [] as CompiledRestRule[], cache: new Map<string, Call>() };
      this.#methods.set(method, known);
      known.rules.push(rule);
    }
    if (rule.isBelowPrefix) return;
    const first = rule.pattern.segments[0] ?? '';
    for (const { segments } of this.#contexts) this.#regularStarts.push(`/${[...segments, first].join('/')}`);
  }

  #match(rules: readonly CompiledRestRule[], path: string): Call | undefined {
    // Most requests that are not calls are for pages, scripts and images. This check saves parsing them.
    if (!isIrregularPath(path) && !this.#regularStarts.some((start) => path.startsWith(start))) return undefined;
    const segments = parseSegments(path);
    if (segments === undefined) return undefined;
    const context = this.#contexts.find((candidate) => startsWith(segments, candidate.segments));
    if (context === undefined) return undefined;
    const start = context.segments.length;
    const isBelow = startsWith(segments, this.#prefix, start);
    for (const { pattern, isBelowPrefix, kind, name } of rules) {
      const captured =
        (isBelowPrefix ? undefined : matchPattern(pattern, segments, start)) ??
        (isBelow ? matchPattern(pattern, segments, start + this.#prefix.length) : undefined);
      if (captured === undefined) continue;
      if (kind === 'none') return undefined;
      const text = name.map((part) => (typeof part === 'number' ? captured[part] : part)).join('');
      const copy = detached(sanitizeText(text.slice(0, MAX_NAME_CHARS)));
      return { application: context.application, kind, name: copy };
    }
    return undefined;
  }
}
