/** Classifies Comet messages: a delivery on `/d2/object/H.Demo` is a received value of the object `H.Demo`. */

import { sanitizeText } from '../../base/shown-text.ts';
import type { Config } from '../../config/config.ts';
import {
  type CometTarget,
  type CometWhen,
  type CompiledCometRule,
  compileCometRule,
  type NamePart,
  type ReplyRule,
} from '../../config/rules/comet-rules.ts';
import { resolvePointer } from '../../config/rules/json-pointer.ts';
import { decodeText, matchPattern } from '../../config/rules/pattern.ts';
import { type BayeuxMessage, toId } from '../../protocol/bayeux/message.ts';
import { detached } from '../../protocol/http1/text.ts';
import { DEFAULT_COMET_RULES } from './default-comet-rules.ts';
import {
  createContexts,
  extractRawPath,
  isAtOrBelow,
  isIrregularPath,
  parseConfigSegments,
  parseSegments,
} from './path.ts';

/** `name`: a copy, e.g. `H.Demo`; hidden characters are U+FFFD. `reply`: how to find the answer of a call. */
export type ClassifiedMessage = CometTarget & { readonly name: string; readonly reply: ReplyRule };

export type CometClassifierConfig = Pick<Config['comet'], 'rules' | 'defaultRules'>;

export class CometClassifier {
  readonly #rules: Readonly<Record<CometWhen, readonly CompiledCometRule[]>>;
  /** Segments of the longest pattern. */
  readonly #deepest: number;

  constructor(config: CometClassifierConfig) {
    const rules = [...config.rules, ...(config.defaultRules ? DEFAULT_COMET_RULES : [])].map(compileCometRule);
    const rulesFor = (when: CometWhen): CompiledCometRule[] => rules.filter((rule) => rule.whens.includes(when));
    this.#rules = {
      subscribe: rulesFor('subscribe'),
      unsubscribe: rulesFor('unsubscribe'),
      publish: rulesFor('publish'),
      delivery: rulesFor('delivery'),
    };
    this.#deepest = Math.max(0, ...rules.map(({ pattern }) => pattern.segments.length));
  }

  /**
   * The meaning of a message, or of one `channel` of a subscription, if a rule matches. About 1 µs
   * (test/bench/comet.bench.ts): a cache of thousands of channels took longer.
   */
  classify(when: CometWhen, channel: string, data: unknown): ClassifiedMessage | undefined {
    if (!channel.startsWith('/')) return undefined;
    // Two more: the empty text before the first slash, and one that no pattern has. A hostile channel may have
    // thousands.
    const segments = channel.split('/', this.#deepest + 2);
    for (const { pattern, target, name: parts, reply } of this.#rules[when]) {
      const captured = matchPattern(pattern, segments, 1);
      if (captured === undefined) continue;
      if (target === undefined) return undefined;
      const name = composeName(parts, captured, data);
      // A rule whose name is missing from the data does not match; a later rule for the same channel may.
      if (!name) continue;
      const copy = detached(sanitizeText(name));
      // Field by field: spreading the target took 2.6 µs, more than all the rest (test/bench/comet.bench.ts).
      return target.kind === 'object'
        ? { kind: target.kind, action: target.action, name: copy, reply }
        : { kind: target.kind, action: target.action, name: copy, reply };
    }
    return undefined;
  }
}

/** Undefined when a pointer outside of optional parts finds neither text nor number. */
function composeName(parts: readonly NamePart[], captured: readonly string[], data: unknown): string | undefined {
  let name = '';
  for (const part of parts) {
    const text = textOfPart(part, captured, data);
    if (text === undefined) return undefined;
    name += text;
  }
  return name;
}

function textOfPart(part: NamePart, captured: readonly string[], data: unknown): string | undefined {
  if (typeof part === 'string') return part;
  if (typeof part === 'number') return decodeText(captured[part] ?? '');
  if ('optional' in part) return composeName(part.optional, captured, data) ?? '';
  // An empty text counts as missing: `E.Demo.` would name a call that does not exist.
  return toId(resolvePointer(data, part.pointer)) || undefined;
}

/** The id that correlates call and answer; undefined when the message has neither a text nor a number there. */
export function readReplyId(reply: ReplyRule, message: BayeuxMessage): string | undefined {
  return toId(resolvePointer(message, reply.id));
}

/** Whether the answer is an error: `successful` is false, or the pointer finds anything but null, false or ''. */
export function isFailedReply(reply: ReplyRule, answer: BayeuxMessage): boolean {
  if (answer.successful === false) return true;
  if (reply.error === undefined) return false;
  const error = resolvePointer(answer, reply.error);
  return error !== undefined && error !== null && error !== false && error !== '';
}

/** Requests whose bodies are read, although they are not calls: to the Comet endpoint, and login forms. */
export class CometRoutes {
  readonly #contexts: readonly { readonly application: string; readonly start: string }[];
  readonly #cometStart: string;
  readonly #loginEnd: string;

  /** `cometPath` and `loginPath` are relative to each application, without slashes at their ends. */
  constructor(applications: readonly string[], cometPath: string, loginPath: string) {
    // By the length of the text, since a segment may contain a slash (`%2F`).
    this.#contexts = createContexts(applications)
      .map(({ application, segments }) => ({ application, start: joinSegments(segments) }))
      .sort((one, other) => other.start.length - one.start.length);
    this.#cometStart = joinSegments(parseConfigSegments(cometPath));
    this.#loginEnd = joinSegments(parseConfigSegments(loginPath));
  }

  /**
   * Comet: the path and those below it, as CometD appends `/connect`. A login: POST to any path with that ending, as in
   * Tomcat's FormAuthenticator.
   */
  find(method: string, target: string): { application: string; kind: 'comet' | 'login' } | undefined {
    const raw = extractRawPath(target);
    const isPlain = raw === undefined || (!isIrregularPath(raw) && !raw.endsWith('/'));
    const segments = isPlain ? undefined : parseSegments(raw);
    const path = isPlain ? raw : segments && joinSegments(segments);
    if (path === undefined) return undefined;
    const context = this.#contexts.find(({ start }) => isAtOrBelow(path, start));
    if (context === undefined) return undefined;
    const { application, start } = context;
    const rest = path.slice(start.length);
    if (isAtOrBelow(rest, this.#cometStart)) return { application, kind: 'comet' };
    return method === 'POST' && rest.endsWith(this.#loginEnd) ? { application, kind: 'login' } : undefined;
  }
}

function joinSegments(segments: readonly string[]): string {
  return segments.map((segment) => `/${segment}`).join('');
}
