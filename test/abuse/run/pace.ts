/** How fast this machine is now, by a fixed piece of work like the sidecar's own: inflating and parsing. */
import zlib from 'node:zlib';
import { medianOf } from '../../bench/load/statistics.ts';

/** What one piece took on the machine for which the bounds are written. */
const REFERENCE_MS = 0.6;
const EVERY_MS = 50;
const MESSAGES = Array.from({ length: 400 }, (_, i) => ({ channel: `/d2/object/Object${i}`, data: { value: i / 7 } }));
const PIECE = zlib.deflateRawSync(JSON.stringify(MESSAGES));

export class Pace {
  readonly #tookMs: number[] = [];
  readonly #timer = setInterval(() => this.#measure(), EVERY_MS);

  stop(): number {
    clearInterval(this.#timer);
    return Math.max(1, medianOf(this.#tookMs) / REFERENCE_MS || 1);
  }

  #measure(): void {
    const beganMs = performance.now();
    JSON.parse(zlib.inflateRawSync(PIECE).toString('utf8'));
    this.#tookMs.push(performance.now() - beganMs);
  }
}
