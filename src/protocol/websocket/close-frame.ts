import { randomBytes } from 'node:crypto';

const FINAL_CLOSE = 0x88;
const MASK_BIT = 0x80;
const STATUS_BYTES = 2;
const MASK_BYTES = 4;

/** RFC 6455 §7.4.1: an endpoint is going away, such as a server going down. Clients reconnect, unlike after 1000. */
export const GOING_AWAY = 1001;

/** A close frame (RFC 6455 §5.5.1) for a client, e.g. `88 02 03 e9` for 1001. */
export function closeFrame(status: number): Buffer {
  return Buffer.from([FINAL_CLOSE, STATUS_BYTES, status >> 8, status & 0xff]);
}

/** A close frame for an upstream, which accepts only masked frames, each with an unpredictable key (§5.3). */
export function maskedCloseFrame(status: number): Buffer {
  const mask = randomBytes(MASK_BYTES);
  const masked = [status >> 8, status & 0xff].map((byte, i) => byte ^ (mask[i] as number));
  return Buffer.from([FINAL_CLOSE, MASK_BIT | STATUS_BYTES, ...mask, ...masked]);
}
