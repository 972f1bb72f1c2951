/** Formats times in the reader's zone, failed calls with their share, and parts of sessions. */
import { formatCount, formatPercent } from '../base/figures.ts';
import type { ConnectionType, SessionRow } from './live-data.ts';

const CONNECTIONS: Readonly<Record<ConnectionType, string>> = {
  REST: 'REST',
  COMET_WEBSOCKET: 'Comet, WebSocket',
  COMET_LONG_POLLING: 'Comet, long-polling',
};

export function describeConnection(type: ConnectionType): string {
  return CONNECTIONS[type] ?? type;
}

/** E.g. `anna`, or `anna (unverified)` if nothing has proven the name. */
export function describeUser({ userName, verified }: Pick<SessionRow, 'userName' | 'verified'>): string {
  return `${userName ?? '(unknown)'}${verified ? '' : ' (unverified)'}`;
}

/** `71 (12 %)`: the failed calls and their share of `ended`; `0` if none failed. */
export function formatFailed(failed: number, ended: number): string {
  return failed === 0 ? '0' : `${formatCount(failed)} (${formatPercent(failed / Math.max(failed, ended))})`;
}

/** In the reader's time zone: `02:14:07`, preceded by the date unless it is the day of `nowMs`. */
export function formatTime(epochMs: number, nowMs: number): string {
  const time = new Date(epochMs);
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(twoDigits).join(':');
  if (time.toDateString() === new Date(nowMs).toDateString()) return clock;
  return `${formatDay(epochMs)} ${clock}`;
}

/** In the reader's time zone: `2026-03-01`. */
export function formatDay(epochMs: number): string {
  const time = new Date(epochMs);
  return `${time.getFullYear()}-${twoDigits(time.getMonth() + 1)}-${twoDigits(time.getDate())}`;
}

/** `2026-03-01 01:14:07 UTC`. */
export function formatUtc(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}
