/** Formats numbers and durations for people. It also runs in the browser, so it imports nothing. */

const NONE = '–';

const BYTES_PER_STEP = 1024;
const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** `12,345`. */
export function formatCount(value: number): string {
  return value < 1_000 ? String(value) : formatWhole(value);
}

/** Three significant digits, e.g. `0.25`, `12.3`, `1,240`; a dash for none. */
export function formatRate(value: number | null): string {
  if (value === null) return NONE;
  if (value === 0) return '0';
  if (value < 0.01) return '<0.01';
  return formatDigits(value);
}

/** From seconds: `412 µs`, `12.3 ms`, `1.24 s`, `2 min 3 s`; a dash for none. */
export function formatDuration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return NONE;
  if (seconds === 0) return '0';
  if (seconds < 0.000_999_5) return `${Math.round(seconds * 1e6)} µs`;
  if (seconds < 0.999_5) return `${formatDigits(seconds * 1e3)} ms`;
  if (seconds < 59.95) return `${formatDigits(seconds)} s`;
  return formatSpan(seconds);
}

/** From seconds, rounded: `45 s`, `2 min 3 s`, `1 h 5 min`, `3 d 2 h`. */
export function formatSpan(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3_600) return join(Math.floor(whole / 60), 'min', whole % 60, 's');
  if (whole < 86_400) return join(Math.floor(whole / 3_600), 'h', Math.floor((whole % 3_600) / 60), 'min');
  return join(Math.floor(whole / 86_400), 'd', Math.floor((whole % 86_400) / 3_600), 'h');
}

/** `412 MiB`; a dash for none. */
export function formatBytes(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return NONE;
  let value = bytes;
  let unit = 0;
  while (value >= BYTES_PER_STEP && unit < BYTE_UNITS.length - 1) {
    value /= BYTES_PER_STEP;
    unit += 1;
  }
  return `${unit === 0 ? value : formatDigits(value)} ${BYTE_UNITS[unit]}`;
}

/** From a share between 0 and 1: `0.4 %`, `12 %`. */
export function formatPercent(share: number): string {
  const percent = share * 100;
  if (percent === 0) return '0 %';
  if (percent < 0.1) return '<0.1 %';
  return `${percent < 10 ? percent.toFixed(1) : Math.round(percent)} %`;
}

/** A share of calls, with up to two decimals and never rounded up: 0.9996 is `99.96 %`. */
export function formatShare(share: number): string {
  return `${Math.floor(share * 10_000 + 1e-6) / 100} %`;
}

/** `12,345`, rounded. `Intl.NumberFormat` would load tables that take 7 MB of resident memory. */
function formatWhole(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

function formatDigits(value: number): string {
  if (value < 9.995) return value.toFixed(2);
  return value < 99.95 ? value.toFixed(1) : formatWhole(value);
}

function join(major: number, majorUnit: string, minor: number, minorUnit: string): string {
  return minor === 0 ? `${major} ${majorUnit}` : `${major} ${majorUnit} ${minor} ${minorUnit}`;
}
