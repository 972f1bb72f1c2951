/**
 * Classifies Comet messages: a delivery on `/d2/object/H.Demo` is a received value of the object `H.Demo`. Rules are
 * data (`comet-rules.ts`). Like the whole folder, this must not know sockets, sessions or metrics.
 */

import { toShownText } from '../../base/shown-text.ts';
import type { CometRule } from '../../config/config.ts';
import { matchChannel } from '../../protocol/bayeux/channel.ts';
import { detached } from '../../protocol/http1/text.ts';
import { CallCache } from './call-cache.ts';
import { toCometName } from './comet-name.ts';
import type { ReplyRule } from './comet-reply.ts';
import { type CometTarget, type CometWhen, type CompiledCometRule, compileCometRules } from './comet-rule-compiler.ts';
import { DEFAULT_COMET_RULES } from './comet-rules.ts';

export type { CometWhen } from './comet-rule-compiler.ts';

/**
 * `name` is e.g. `E.Demo.Test` or `H.Demo`, of any length. Hidden characters are replaced by U+FFFD. It is a copy and
 * keeps no message in memory.
 */
export type CometMeaning =
  | { readonly kind: 'rpc' | 'sba'; readonly action: 'call'; readonly name: string }
  | { readonly kind: 'object'; readonly action: 'subscribe' | 'unsubscribe' | 'value'; readonly name: string };

/** `reply` says how to find the answer; it only matters for calls. */
export type ClassifiedMessage = CometMeaning & { readonly reply: ReplyRule };

export interface CometClassifierConfig {
  /** Rules from the configuration, tried before the built-in ones. */
  readonly rules: readonly CometRule[];
  readonly defaultRules: boolean;
}

/** Channels in one generation of the cache: somewhat more than the default of `metrics.maxNames.object`. */
export const CACHED_CHANNELS = 10_240;

/** Longest cached channel, in UTF-16 code units. Together with `CACHED_CHANNELS` it bounds the cache. */
export const CACHED_CHANNEL_CHARS = 256;

/** Throws `D2S_ERR_CONFIG` for the first unusable configured rule and names its key: `comet.rules[0].name`. */
export function checkCometRules(rules: readonly CometRule[]): void {
  compileCometRules(rules, 'comet.rules');
}

type ChannelMeanings = Partial<Record<CometWhen, ClassifiedMessage>>;

export class CometClassifier {
  readonly #rules: Readonly<Record<CometWhen, readonly CompiledCometRule[]>>;
  readonly #channels = new CallCache<ChannelMeanings>(CACHED_CHANNELS, CACHED_CHANNEL_CHARS);

  constructor(config: CometClassifierConfig) {
    const defaults = config.defaultRules ? compileCometRules(DEFAULT_COMET_RULES, 'default rules') : [];
    const rules = [...compileCometRules(config.rules, 'comet.rules'), ...defaults];
    const rulesFor = (when: CometWhen): CompiledCometRule[] => rules.filter((rule) => rule.whens.includes(when));
    this.#rules = {
      subscribe: rulesFor('subscribe'),
      unsubscribe: rulesFor('unsubscribe'),
      publish: rulesFor('publish'),
      delivery: rulesFor('delivery'),
    };
  }

  get cachedChannels(): number {
    return this.#channels.size;
  }

  /**
   * Returns the meaning, or undefined when no rule matches. `channel` is the message's channel, or one channel of a
   * subscription or unsubscription; `data` is the message's. A meaning that does not depend on `data` is cached: it is
   * the same object each time and costs about 0.1 µs. Others cost about 0.6 µs (test/bench/comet.bench.ts).
   */
  classify(when: CometWhen, channel: string, data: unknown): ClassifiedMessage | undefined {
    return this.#channels.get(channel)?.[when] ?? this.#read(when, channel, data);
  }

  #read(when: CometWhen, channel: string, data: unknown): ClassifiedMessage | undefined {
    let isSteady = true;
    for (const rule of this.#rules[when]) {
      const captured = matchChannel(rule.pattern, channel);
      if (captured === undefined) continue;
      if (rule.target.kind === 'none') return undefined;
      if (rule.name.needsData) isSteady = false;
      const name = toCometName(rule.name, captured, data);
      // A rule whose name is missing from the data does not match; a later rule for the same channel may.
      if (name === undefined) continue;
      const meaning = toMeaning(rule.target, detached(toShownText(name)), rule.reply);
      if (isSteady) this.#remember(when, channel, meaning);
      return meaning;
    }
    return undefined;
  }

  /** Only meanings are cached, so that a scan of channels without any cannot evict them. */
  #remember(when: CometWhen, channel: string, meaning: ClassifiedMessage): void {
    const meanings = this.#channels.get(channel);
    if (meanings !== undefined) meanings[when] = meaning;
    else this.#channels.set(channel, { [when]: meaning });
  }
}

/** Copies field by field: spreading the target took 2.6 µs, ten times all the rest (test/bench/comet.bench.ts). */
function toMeaning(target: Exclude<CometTarget, { kind: 'none' }>, name: string, reply: ReplyRule): ClassifiedMessage {
  return target.kind === 'object'
    ? { kind: target.kind, action: target.action, name, reply }
    : { kind: target.kind, action: target.action, name, reply };
}
