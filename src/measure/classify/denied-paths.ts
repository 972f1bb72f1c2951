/**
 * The paths of `rest.deny`, which only clients on loopback may request, without a proxy. Servers differ in how they read a path. A
 * target is therefore denied if any reading of it lies at or below a denied path: escapes, path parameters, empty and
 * dot segments, backslashes, absolute form.
 */

import { decodeText } from '../../config/rules/pattern.ts';
import { toRawPath } from './path.ts';

interface DeniedClient {
  readonly remoteAddress: string;
  /** The peer is a trusted proxy. */
  readonly viaProxy?: 'field' | 'header';
}

export class DeniedPaths {
  /** As on the wire, in latin1: `['/manager']`. */
  readonly #paths: readonly string[];
  readonly #segments: readonly (readonly string[])[];
  /** Maximum number of segments in a denied path, and of characters in a segment. */
  readonly #deepest: number;
  readonly #longest: number;

  private constructor(paths: readonly string[]) {
    this.#segments = paths.map((path) => toWireText(path).split('/').filter(Boolean));
    this.#paths = this.#segments.map((segments) => `/${segments.join('/')}`);
    this.#deepest = Math.max(...this.#segments.map(({ length }) => length));
    this.#longest = Math.max(...this.#segments.flat().map(({ length }) => length));
  }

  /** Undefined for an empty list, so that the data plane has no check to make. */
  static of(paths: readonly string[]): DeniedPaths | undefined {
    return paths.length === 0 ? undefined : new DeniedPaths(paths);
  }

  /**
   * `target` as sent, in latin1. Behind a trusted proxy no client counts as loopback: a loopback address that the proxy
   * states may be forged, and the proxy's own says nothing about a client that it did not name.
   */
  denies(target: string, { remoteAddress, viaProxy }: DeniedClient): boolean {
    if (viaProxy === undefined && LOOPBACK.test(remoteAddress)) return false;
    const queryAt = target.indexOf('?');
    const path = queryAt < 0 ? target : target.slice(0, queryAt);
    if (path.charCodeAt(0) === SLASH && !IRREGULAR.test(path)) return this.#deniesRegular(path);
    return AMBIGUOUS.test(path) ? this.#deniesAmbiguous(path) : this.#deniesDecoded(path);
  }

  #deniesRegular(path: string): boolean {
    for (const denied of this.#paths) if (isBelow(path, denied)) return true;
    return false;
  }

  #deniesDecoded(path: string): boolean {
    const segments = this.#toFirstSegments(toRawPath(path) ?? path);
    return this.#segments.some((denied) => denied.every((segment, index) => segment === segments[index]));
  }

  /**
   * The first segments, decoded, without empty ones and dots; as many as a denied path can have, whatever the length.
   */
  #toFirstSegments(path: string): string[] {
    const segments: string[] = [];
    for (let from = 0; from < path.length && segments.length < this.#deepest; ) {
      const slash = path.indexOf('/', from);
      const to = slash < 0 ? path.length : slash;
      // An escaped character has three. A longer segment cannot be part of a denied path, and is not decoded.
      const segment = to - from > 3 * this.#longest ? TOO_LONG : decodeBytes(path.slice(from, to));
      if (segment !== '' && segment !== '.') segments.push(segment);
      from = to + 1;
    }
    return segments;
  }

  /**
   * Servers differ on what `..` removes and on what separates segments. In every reading, the remaining segments are a
   * subsequence of these, so a denied path that is a subsequence is denied. One pass: the path may have 64 KiB of
   * escapes.
   */
  #deniesAmbiguous(path: string): boolean {
    const found = this.#segments.map(() => 0);
    let segment = '';
    for (let at = 0; at <= path.length; at += 1) {
      let code = at < path.length ? path.charCodeAt(at) : SLASH;
      const escaped = code === PERCENT ? toByte(path, at + 1) : -1;
      if (escaped >= 0) {
        code = escaped;
        at += 2;
      }
      if (!isSeparator(code)) {
        // One character too many is enough to differ from all.
        if (segment.length <= this.#longest) segment += String.fromCharCode(code);
        continue;
      }
      if (segment !== '' && this.#completes(segment, found)) return true;
      segment = '';
    }
    return false;
  }

  /** Advances the matches by the next segment of a path; true if a denied path is now complete. */
  #completes(segment: string, found: number[]): boolean {
    return this.#segments.some((denied, index) => {
      const count = found[index] ?? 0;
      if (segment !== denied[count]) return false;
      found[index] = count + 1;
      return count + 1 === denied.length;
    });
  }
}

function isSeparator(code: number): boolean {
  return code === SLASH || code === BACKSLASH || code === SEMICOLON;
}

/** The byte whose two hexadecimal digits are at `at`; -1 where there are none. */
function toByte(path: string, at: number): number {
  const [high, low] = [toDigit(path.charCodeAt(at)), toDigit(path.charCodeAt(at + 1))];
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/** -1 for anything but a hexadecimal digit, also for NaN. */
function toDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x61 + 10 : -1;
}

function isBelow(path: string, denied: string): boolean {
  return path.startsWith(denied) && (path.length === denied.length || path.charCodeAt(denied.length) === SLASH);
}

/** Decodes each escape separately: a broken one must not prevent the decoding of the others. */
function decodeBytes(path: string): string {
  return path.replace(ESCAPE, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** A path of the configuration as its UTF-8 bytes, one latin1 character for each. */
function toWireText(path: string): string {
  return Buffer.from(decodeText(path), 'utf8').toString('latin1');
}

const SLASH = 0x2f;
const BACKSLASH = 0x5c;
const SEMICOLON = 0x3b;
const PERCENT = 0x25;
/** Equals no segment. */
const TOO_LONG = '/';
const LOOPBACK = /^127\.|^::1$/;
/** All servers read a path alike if it begins with a slash and has none of these. */
const IRREGULAR = /[%;\\]|\/[/.]/;
/** `..`, and separators that some servers decode and others do not. */
const AMBIGUOUS = /\\|%(?:2f|3b|5c)|(?:\.|%2e){2}/i;
const ESCAPE = /%([0-9a-f]{2})/gi;
