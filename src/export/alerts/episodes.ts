/**
 * Which findings hold, and which message is due. A finding begins after `BEGIN_NS` and ends after `END_NS` without it, so
 * that flicker sends nothing. While messages are silenced, or there are too many, nothing is lost but what came and went
 * meanwhile: afterwards the last state is told.
 */
import { type Clock, formatIso, NS_PER_S } from '../../base/clock.ts';
import { formatCount, formatSpan } from '../../base/figures.ts';
import { randomId } from '../../base/random-id.ts';
import type { SavedAlerts, SavedEpisode } from './alerts-file.ts';
import { type AlertMessage, type Finding, shorten, shortenName } from './message.ts';

const BEGIN_NS = 2 * NS_PER_S;
const END_NS = 10 * NS_PER_S;
/** After a restart: the verdict begins with no calls, and the upstream is not known yet. */
const END_AFTER_RESTART_NS = 15 * NS_PER_S;
const HOUR_MS = 3_600_000;

export interface FoundNow extends Finding {
  readonly sinceEpochMs: number;
}

export interface EpisodeTexts {
  /** What else helps at the beginning, e.g. the slowest call; may be empty. */
  evidenceOf(finding: Finding): string;
  /** What is the matter with the application now. */
  describeNow(application: string): string;
  linkTo(finding: Finding): string;
}

interface Episode extends SavedEpisode {
  readonly seenNs: number;
  /** It has held for `BEGIN_NS`. */
  isBegun: boolean;
  /** It was not seen yet by this process. */
  isRestored?: boolean;
  goneNs?: number | undefined;
}

export class Episodes {
  readonly #clock: Clock;
  readonly #texts: EpisodeTexts;
  readonly #maxPerHour: number;
  readonly #open = new Map<string, Episode>();
  /** Those whose beginning was told, and whose end was not, oldest first. */
  #ended: Episode[] = [];
  #room: { messages: number; epochMs: number };
  readonly untold = { limit: 0, silence: 0 };
  /** Since the start, for /metrics. */
  readonly untoldTotal = { limit: 0, silence: 0 };
  silence: SavedAlerts['silence'] = null;

  constructor(maxPerHour: number, texts: EpisodeTexts, clock: Clock, saved?: SavedAlerts) {
    this.#clock = clock;
    this.#texts = texts;
    this.#maxPerHour = maxPerHour;
    this.#room = { messages: this.#burst, epochMs: clock.epochMs() };
    if (saved !== undefined) this.#load(saved);
  }

  /** Half of an hour's messages at once, and the other half over the hour: never more than all of them in any hour. */
  get #burst(): number {
    return Math.floor(this.#maxPerHour / 2);
  }

  get isSilent(): boolean {
    return this.silence !== null && this.#clock.epochMs() < this.silence.untilEpochMs;
  }

  /** `isPaused`: nothing begins or ends there now. Returns the messages that are due. */
  check(found: readonly FoundNow[], isPaused: (application: string) => boolean): readonly AlertMessage[] {
    const nowNs = this.#clock.nowNs();
    const byKey = new Map(found.filter(({ application }) => !isPaused(application)).map((one) => [keyOf(one), one]));
    for (const [key, finding] of byKey) if (!this.#open.has(key)) this.#open.set(key, this.#create(finding, nowNs));
    for (const [key, episode] of this.#open) {
      if (isPaused(episode.application)) continue;
      const finding = byKey.get(key);
      if (finding === undefined) this.#gone(key, episode, nowNs);
      else {
        episode.goneNs = undefined;
        episode.isRestored = false;
        episode.untilEpochMs = undefined;
        episode.isBegun ||= nowNs - episode.seenNs >= BEGIN_NS;
        if (!episode.isTold) episode.text = shorten(finding.text);
      }
    }
    return this.#takeDue();
  }

  save(): Omit<SavedAlerts, 'waiting'> {
    const begun = [...this.#ended, ...this.#open.values()].filter(({ isBegun }) => isBegun);
    const episodes = begun.map(({ seenNs: _, isBegun: __, goneNs: ___, isRestored: ____, ...saved }) => saved);
    return { episodes, silence: this.silence, room: this.#room, untold: { ...this.untold } };
  }

  #load({ episodes, silence, room, untold }: SavedAlerts): void {
    // Of two with the same key, the first has ended.
    for (const saved of episodes) {
      const before = this.#open.get(keyOf(saved));
      if (before !== undefined) this.#ended.push(before);
      this.#open.set(keyOf(saved), { ...saved, seenNs: this.#clock.nowNs(), isBegun: true, isRestored: true });
    }
    this.silence = silence;
    this.#room = { messages: Math.min(room.messages, this.#burst), epochMs: room.epochMs };
    Object.assign(this.untold, untold);
  }

  #create({ sinceEpochMs, name, text, ...finding }: FoundNow, seenNs: number): Episode {
    const shown = { name: shortenName(name), text: shorten(text) };
    return { id: randomId(), ...finding, ...shown, sinceEpochMs, seenNs, isBegun: false, isTold: false };
  }

  #gone(key: string, episode: Episode, nowNs: number): void {
    episode.goneNs ??= nowNs;
    // The clock may have been set back.
    episode.untilEpochMs ??= Math.max(episode.sinceEpochMs, this.#clock.epochMs());
    const endNs = episode.isRestored === true ? END_AFTER_RESTART_NS : END_NS;
    if (episode.isBegun && nowNs - episode.goneNs < endNs) return;
    this.#open.delete(key);
    if (episode.isTold) this.#ended.push(episode);
    else if (episode.isBegun) this.#missed();
  }

  /** Beginning and end of an episode were not told. */
  #missed(): void {
    const reason = this.isSilent ? 'silence' : 'limit';
    this.untold[reason] += 2;
    this.untoldTotal[reason] += 2;
  }

  #takeDue(): AlertMessage[] {
    const due: AlertMessage[] = [];
    if (this.isSilent) return due;
    this.#refill();
    const begun = [...this.#open.values()].filter(({ isBegun, isTold }) => isBegun && !isTold);
    for (const episode of [...this.#ended, ...begun]) {
      if (this.#room.messages < 1) break;
      this.#room.messages -= 1;
      due.push(this.#compose(episode, episode.isTold ? 'ends' : 'begins'));
      if (episode.isTold) this.#ended = this.#ended.filter((one) => one !== episode);
      episode.isTold = true;
    }
    return due;
  }

  #refill(): void {
    const { messages, epochMs } = this.#room;
    const nowMs = this.#clock.epochMs();
    const gained = (Math.max(0, nowMs - epochMs) / HOUR_MS) * (this.#maxPerHour - this.#burst);
    this.#room = { messages: Math.min(this.#burst, messages + gained), epochMs: nowMs };
  }

  #compose(episode: Episode, event: 'begins' | 'ends'): AlertMessage {
    const { id, application, subject, code, kind, name, text, sinceEpochMs, untilEpochMs } = episode;
    const finding = { application, subject, code, kind, name, text };
    const parts = event === 'begins' ? [text, this.#texts.evidenceOf(finding)] : this.#describeEnd(episode);
    const isEnd = event === 'ends' && untilEpochMs !== undefined;
    return {
      ...{ id, event, application, subject, code, name },
      text: shorten([...parts, ...this.#notes()].filter((part) => part !== '').join(' ')),
      since: formatIso(sinceEpochMs),
      until: isEnd ? formatIso(untilEpochMs) : null,
      url: this.#texts.linkTo(finding),
    };
  }

  #describeEnd({ application, text, sinceEpochMs, untilEpochMs = 0 }: Episode): string[] {
    const length = formatSpan((untilEpochMs - sinceEpochMs) / 1_000);
    return [`Over after ${length}: ${text}`, `Now: ${this.#texts.describeNow(application)}`];
  }

  #notes(): string[] {
    const notes: string[] = [];
    const { limit, silence } = this.untold;
    if (limit > 0)
      notes.push(
        `Before this, ${formatCount(limit)} messages were left out: at most ${this.#maxPerHour} are sent an hour (alerts.maxPerHour).`,
      );
    if (silence > 0) notes.push(`During the silence, ${formatCount(silence)} messages were left out.`);
    this.untold.limit = 0;
    this.untold.silence = 0;
    const { messages } = this.#room;
    const nextS = ((1 - messages) * HOUR_MS) / (this.#maxPerHour - this.#burst) / 1_000;
    if (messages < 1)
      notes.push(
        `This is the last message for ${formatSpan(nextS)}: at most ${this.#maxPerHour} are sent an hour (alerts.maxPerHour).`,
      );
    return notes;
  }
}

function keyOf({ application, code, name }: Pick<Finding, 'application' | 'code' | 'name'>): string {
  // Rules have a name each; a verdict keeps its code while the name changes.
  return `${application} ${code}${code === 'threshold' ? ` ${name}` : ''}`;
}
