/**
 * Channels: paths such as `/d2/object/H.Demo` (The Bayeux Protocol 1.0, "Channels"). The patterns here are those of the
 * sidecar's rules, with captures. The protocol's own patterns (`/d2/*`, `/d2/**`) are plain texts here, like any other
 * subscription.
 */

export const META_HANDSHAKE = '/meta/handshake';
export const META_CONNECT = '/meta/connect';
export const META_SUBSCRIBE = '/meta/subscribe';
export const META_UNSUBSCRIBE = '/meta/unsubscribe';
export const META_DISCONNECT = '/meta/disconnect';

/** Channels of the protocol itself: what is published there is not distributed. */
export function isMeta(channel: string): boolean {
  return channel.startsWith('/meta/');
}

/** Channels between one client and the server, e.g. for calls. */
export function isService(channel: string): boolean {
  return channel.startsWith('/service/');
}

export interface ChannelPattern {
  readonly text: string;
  /** Names of the captures, in order: `['name']`. */
  readonly captures: readonly string[];
  /** The text that every matching channel starts with: `/d2/object/`. */
  readonly prefix: string;
  readonly segments: readonly (string | null)[];
}

/**
 * Reads a pattern; a returned string says what would have been right. Each segment is a text or one capture. Texts are
 * compared literally, including escapes and asterisks: in the protocol, `/a` and `/%61` are two channels.
 */
export function parseChannelPattern(text: string): ChannelPattern | string {
  if (!text.startsWith('/')) return PATTERN_FORM;
  const captures: string[] = [];
  const segments: (string | null)[] = [];
  for (const segment of text.slice(1).split('/')) {
    const capture = CAPTURE.exec(segment)?.[1];
    if (capture === undefined && !TEXT_SEGMENT.test(segment)) return PATTERN_FORM;
    if (capture !== undefined && captures.includes(capture)) return `the capture {${capture}} once`;
    if (capture !== undefined) captures.push(capture);
    segments.push(capture === undefined ? segment : null);
  }
  if (isMeta(text)) return 'a channel that is not the protocol’s own (/meta/...)';
  const captureAt = text.indexOf('{');
  return { text, captures, prefix: captureAt < 0 ? text : text.slice(0, captureAt), segments };
}

/**
 * The captured values in order, `['H.Demo']`; `[]` for a match without captures; undefined for no match. A capture
 * takes exactly one non-empty segment. Its value is percent-decoded, or stays as written if it cannot be decoded.
 */
export function matchChannel(pattern: ChannelPattern, channel: string): readonly string[] | undefined {
  if (pattern.captures.length === 0) return channel === pattern.text ? NOTHING_CAPTURED : undefined;
  if (!channel.startsWith(pattern.prefix)) return undefined;
  const values: string[] = [];
  let at = 0;
  for (const segment of pattern.segments) {
    if (channel.charCodeAt(at) !== SLASH) return undefined;
    const slash = channel.indexOf('/', at + 1);
    const end = slash < 0 ? channel.length : slash;
    if (segment === null) {
      if (end === at + 1) return undefined;
      values.push(decodeCapture(channel.slice(at + 1, end)));
    } else if (end !== at + 1 + segment.length || !channel.startsWith(segment, at + 1)) {
      return undefined;
    }
    at = end;
  }
  return at === channel.length ? values : undefined;
}

function decodeCapture(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    // A percent sign that starts no escape is part of the name.
    return text;
  }
}

const PATTERN_FORM = 'a channel such as /d2/object/{name}, where each segment is a text or one {capture}';
const NOTHING_CAPTURED: readonly string[] = [];
const SLASH = 0x2f;
const CAPTURE = /^\{([A-Za-z_][A-Za-z0-9_]*)\}$/;
const TEXT_SEGMENT = /^[^\s\p{Cc}{}]+$/u;
