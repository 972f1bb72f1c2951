/**
 * The paths of `rest.deny`, which only clients on loopback may request. Servers differ in how they read a path, so a
 * target is denied if any reading lies at or below a denied path: escapes, parameters, empty and dot segments,
 * backslashes.
 */

import { decodeText } from '../../config/rules/pattern.ts';
import type { ClientConnection } from '../../proxy/exchange/exchange.ts';
import { decodeHexByte, extractRawPath, isAtOrBelow } from './path.ts';

export class DeniedPaths {
  /** As on the wire, in latin1: `['/manager']`. */
  readonly #paths: readonly string[];
  readonly #segments: readonly (readonly string[])[];
  /** Maximum number of segments in a denied path, and of characters in a segment. */
  readonly #deepest: number;
  readonly #longest: number;

  private constructor(paths: readonly string[]) {
    // As UTF-8 bytes, one latin1 character for each.
    const onWire = paths.map((path) => Buffer.from(decodeText(path), 'utf8').toString('latin1'));
    this.#segments = onWire.map((path) => path.split('/').filter(Boolean));
    this.#paths = this.#segments.map((segments) => `/${segments.join('/')}`);
    this.#deepest = Math.max(...this.#segments.map(({ length }) => length));
    this.#longest = Math.max(...this.#segments.flat().map(({ length }) => length));
  }

  /** Undefined for an empty list, so that the data plane has no check to make. */
  static of(paths: readonly string[]): DeniedPaths | undefined {
    return paths.length === 0 ? undefined : new DeniedPaths(paths);
  }

  /** `target` as sent, in latin1. Behind a trusted proxy no client is loopback: that may be forged. */
  denies(target: string, { remoteAddress, viaProxy }: Pick<ClientConnection, 'remoteAddress' | 'viaProxy'>): boolean {
    if (viaProxy === undefined && LOOPBACK.test(remoteAddress)) return false;
    const queryAt = target.indexOf('?');
    const path = queryAt < 0 ? target : target.slice(0, queryAt);
    if (path.charCodeAt(0) === SLASH && !IRREGULAR.test(path))
      return this.#paths.some((denied) => isAtOrBelow(path, denied));
    if (AMBIGUOUS.test(path)) return this.#deniesAmbiguous(path);
    const segments = this.#firstSegments(extractRawPath(path) ?? path);
    return this.#segments.some((denied) => denied.every((segment, index) => segment === segments[index]));
  }

  /** The first segments, decoded, without empty ones and dots; as many as a denied path can have. */
  #firstSegments(path: string): string[] {
    const segments: string[] = [];
    for (let at = 0, start = 0; at <= path.length && segments.length < this.#deepest; at += 1) {
      if (at < path.length && path.charCodeAt(at) !== SLASH) continue;
      // An escaped character has three. A longer segment cannot be part of a denied path, and is not decoded.
      if (at - start > 3 * this.#longest) segments.push(TOO_LONG);
      else if (!isSkipped(path, start, at)) segments.push(decodeBytes(path.slice(start, at)));
      start = at + 1;
    }
    return segments;
  }

  /**
   * Servers differ on what `..` removes and on what separates segments. In every reading, the remaining segments are a
   * subsequence of these, so a denied path that is a subsequence is denied. One pass that compares hashes: the path may
   * have 60,000 segments, and any number of paths may be denied.
   */
  #deniesAmbiguous(path: string): boolean {
    const found = this.#segments.map(() => 0);
    const awaited = Int32Array.from(this.#segments, ([first = '']) => hashOf(first));
    let hash = 0;
    for (let at = 0, start = 0; at <= path.length; at += 1) {
      const from = at;
      let code = at < path.length ? path.charCodeAt(at) : SLASH;
      const escaped = code === PERCENT ? decodeHexByte(path, at + 1) : -1;
      if (escaped >= 0) {
        code = escaped;
        at += 2;
      }
      if (code !== SLASH && code !== BACKSLASH && code !== SEMICOLON) {
        hash = nextHash(hash, code);
        continue;
      }
      for (let index = 0; index < awaited.length && from > start; index += 1) {
        if (hash !== awaited[index]) continue;
        const [denied = [], count = 0] = [this.#segments[index], found[index]];
        if (from - start > 3 * this.#longest || decodeBytes(path.slice(start, from)) !== denied[count]) continue;
        if (count + 1 === denied.length) return true;
        found[index] = count + 1;
        awaited[index] = hashOf(denied[count + 1] ?? '');
      }
      hash = 0;
      start = at + 1;
    }
    return false;
  }
}

/** An empty segment, or a dot. `..` makes a path ambiguous. */
function isSkipped(path: string, start: number, end: number): boolean {
  const length = end - start;
  if (length === 1) return path.charCodeAt(start) === DOT;
  return length === 0 || (length === 3 && path.charCodeAt(start) === PERCENT && decodeHexByte(path, start + 1) === DOT);
}

function hashOf(segment: string): number {
  let hash = 0;
  for (let at = 0; at < segment.length; at += 1) hash = nextHash(hash, segment.charCodeAt(at));
  return hash;
}

function nextHash(hash: number, code: number): number {
  return (Math.imul(hash, 31) + code + 1) | 0;
}

/** Decodes each escape separately: a broken one must not prevent the decoding of the others. */
function decodeBytes(path: string): string {
  return path.replace(ESCAPE, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

const SLASH = 0x2f;
const BACKSLASH = 0x5c;
const SEMICOLON = 0x3b;
const PERCENT = 0x25;
const DOT = 0x2e;
/** Equals no segment. */
const TOO_LONG = '/';
const LOOPBACK = /^127\.|^::1$/;
/** All servers read a path alike if it begins with a slash and has none of these. */
const IRREGULAR = /[%;\\]|\/[/.]/;
/** `..`, and separators that some servers decode and others do not. */
const AMBIGUOUS = /\\|%(?:2[fF]|3[bB]|5[cC])|(?:\.|%2[eE])(?:\.|%2[eE])/;
const ESCAPE = /%([0-9a-f]{2})/gi;
