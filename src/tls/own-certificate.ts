/** How long the sidecar's own certificates are valid, in words for the log, `check`, `top`, the page and the verdict. */

const DAY_MS = 86_400_000;
/** Long enough for an order to another department, short enough for certificates that are renewed monthly. */
const WARN_DAYS = 14;

/** Times are milliseconds since 1970. */
export interface OwnCertificate {
  /** Of the configuration, e.g. `listen.tls`. */
  readonly section: string;
  readonly notBeforeEpochMs: number;
  readonly notAfterEpochMs: number;
}

type Validity = Pick<OwnCertificate, 'notBeforeEpochMs' | 'notAfterEpochMs'>;

/** Why no client can trust it now, e.g. `it expired on 2026-11-25`; undefined for a valid one. */
export function describeInvalidity({ notBeforeEpochMs, notAfterEpochMs }: Validity, nowEpochMs: number) {
  if (notAfterEpochMs <= nowEpochMs) return `it expired on ${formatDay(notAfterEpochMs)}`;
  if (notBeforeEpochMs > nowEpochMs) return `it is not valid before ${formatDay(notBeforeEpochMs)}`;
  return undefined;
}

/** The same, and in its last 14 days e.g. `it expires in 3 days, on 2026-12-01`. */
export function describeValidity(certificate: Validity, nowEpochMs: number): string | undefined {
  const invalidity = describeInvalidity(certificate, nowEpochMs);
  const days = daysLeft(certificate.notAfterEpochMs, nowEpochMs);
  if (invalidity !== undefined || days >= WARN_DAYS) return invalidity;
  const left = days === 0 ? 'in less than a day' : `in ${days} ${days === 1 ? 'day' : 'days'}`;
  return `it expires ${left}, on ${formatDay(certificate.notAfterEpochMs)}`;
}

/** Whole days; negative once it has expired. */
export function daysLeft(notAfterEpochMs: number, nowEpochMs: number): number {
  return Math.floor((notAfterEpochMs - nowEpochMs) / DAY_MS);
}

function formatDay(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10);
}
