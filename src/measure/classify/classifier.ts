/**
 * Says which call a request line is: `POST /smartWeb/api/rest/v0/d2/rpc/E.Demo/Test?x=1` is the call `E.Demo.Test` of kind
 * `rpc` in the application `smartWeb`. Rules are data (`rules.ts`); this room knows no sockets, sessions or metrics.
 */

import { toShownText } from '../../base/shown-text.ts';
import type { Config, RestRule } from '../../config/config.ts';
import { detached } from '../../protocol/http1/text.ts';
import { CallCache } from './call-cache.ts';
import { isIrregularPath, toConfigSegments, toRawPath, toSegments } from './path.ts';
import { type CallKind, type CompiledRule, compileRules } from './rule-compiler.ts';
import { DEFAULT_REST_RULES } from './rules.ts';

export type { CallKind } from './rule-compiler.ts';

export interface Call {
  /** As in the configuration, e.g. `smartWeb`; `''` is the root context. */
  readonly application: string;
  readonly kind: CallKind;
  /**
   * E.g. `E.Demo.TestInOut`, of any length; `login` or `logout` for kind `session`. Hidden characters are U+FFFD (`toShownText`), so
   * that it can be shown everywhere. A copy: keeps no head alive.
   */
  readonly name: string;
  /** A place for whoever counts calls, who gets the same object again for a path that is remembered. */
  countedOn: object | undefined;
}

export type ClassifierConfig = Pick<Config, 'applications'> & { readonly rest: Omit<Config['rest'], 'deny'> };

/** Paths remembered for each method in a generation of the cache; above 10,000 objects and 4,000 RPCs only the busy ones gain. */
export const CACHED_PATHS = 8_192;

/** Longest path that is remembered, in bytes: with `CACHED_PATHS` it bounds the cache. */
export const CACHED_PATH_CHARS = 512;

/** Throws `D2S_ERR_CONFIG` for the first rule of the user's that cannot be used, by its key: `rest.rules[0].name`. */
export function checkRestRules(rules: readonly RestRule[]): void {
  compileRules(rules, 'rest.rules');
}

interface Context {
  readonly application: string;
  readonly segments: readonly string[];
}

interface MethodRules {
  readonly rules: CompiledRule[];
  readonly cache: CallCache<Call>;
}

export class Classifier {
  readonly #contexts: readonly Context[];
  readonly #prefix: readonly string[];
  /** How every path begins that can be a call, unless it is written in an irregular way. */
  readonly #regularStarts: readonly string[];
  readonly #methods = new Map<string, MethodRules>();

  constructor(config: ClassifierConfig) {
    this.#contexts = config.applications
      .map((application) => ({ application, segments: toConfigSegments(application) }))
      // The longest context wins, as in the server: /plant/north is not a path of the application /plant.
      .sort((a, b) => b.segments.length - a.segments.length);
    this.#prefix = toConfigSegments(config.rest.prefix);
    this.#regularStarts = this.#contexts.map(({ segments }) => `/${[...segments, ...this.#prefix, ''].join('/')}`);
    const defaults = config.rest.defaultRules ? compileRules(DEFAULT_REST_RULES, 'default rules') : [];
    for (const rule of [...compileRules(config.rest.rules, 'rest.rules'), ...defaults]) this.#add(rule);
  }

  /** Paths remembered, for each method up to 2 * `CACHED_PATHS`. */
  get cachedPaths(): number {
    let size = 0;
    for (const { cache } of this.#methods.values()) size += cache.size;
    return size;
  }

  /**
   * The call, or undefined for what is none of ours. The same call is the same object as long as it is remembered. A path
   * that is remembered costs about 0.2 µs (test/bench/record.bench.ts).
   */
  classify(method: string, target: string): Call | undefined {
    const rules = this.#methods.get(method);
    if (rules === undefined) return undefined;
    const path = toRawPath(target);
    if (path === undefined) return undefined;
    const cached = rules.cache.get(path);
    if (cached !== undefined) return cached;
    const call = this.#read(rules.rules, path);
    // Only calls are remembered: a scan of paths that are none must not push them out.
    if (call !== undefined) rules.cache.set(path, call);
    return call;
  }

  #add(rule: CompiledRule): void {
    for (const method of methodsOf(rule)) {
      let rules = this.#methods.get(method);
      if (rules === undefined) {
        rules = { rules: [], cache: new CallCache(CACHED_PATHS, CACHED_PATH_CHARS) };
        this.#methods.set(method, rules);
      }
      rules.rules.push(rule);
    }
  }

  #read(rules: readonly CompiledRule[], path: string): Call | undefined {
    // Pages, scripts and pictures are most of what is no call; their paths need not be taken apart.
    if (!isIrregularPath(path) && !this.#regularStarts.some((start) => path.startsWith(start))) return undefined;
    const segments = toSegments(path);
    if (segments === undefined) return undefined;
    const context = this.#contexts.find((candidate) => startsWith(segments, candidate.segments, 0));
    if (context === undefined || !startsWith(segments, this.#prefix, context.segments.length)) return undefined;
    const offset = context.segments.length + this.#prefix.length;
    const rule = rules.find((candidate) => matches(candidate.segments, segments, offset));
    if (rule === undefined || rule.kind === 'none') return undefined;
    const name = toName(rule.name, segments, offset);
    return { application: context.application, kind: rule.kind, name, countedOn: undefined };
  }
}

/** Servers run HEAD as GET and drop the content (RFC 9110 §9.3.2), so a rule for GET takes it as well. */
function methodsOf({ methods }: CompiledRule): ReadonlySet<string> {
  return new Set(methods.includes('GET') ? [...methods, 'HEAD'] : methods);
}

function startsWith(segments: readonly string[], wanted: readonly string[], offset: number): boolean {
  return wanted.every((segment, index) => segments[offset + index] === segment);
}

function matches(wanted: readonly (string | null)[], segments: readonly string[], offset: number): boolean {
  if (wanted.length !== segments.length - offset) return false;
  return wanted.every((segment, index) => segment === null || segment === segments[offset + index]);
}

function toName(parts: readonly (string | number)[], segments: readonly string[], offset: number): string {
  const name = parts.map((part) => (typeof part === 'number' ? segments[offset + part] : part)).join('');
  return detached(toShownText(name));
}
