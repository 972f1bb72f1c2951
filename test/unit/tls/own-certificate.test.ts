import { expect, it } from 'vitest';
import { daysLeft, describeInvalidity, describeValidity } from '../../../src/tls/own-certificate.ts';

const DAY_MS = 86_400_000;
const BEGIN = Date.UTC(2026, 10, 1);
const certificate = { notBeforeEpochMs: BEGIN, notAfterEpochMs: BEGIN + 90 * DAY_MS };
const at = (days: number) => BEGIN + days * DAY_MS;

it.each([
  [-0.1, 'it is not valid before 2026-11-01', 90],
  [0, undefined, 90],
  [75.9, undefined, 14],
  [76.1, 'it expires in 13 days, on 2027-01-30', 13],
  [88.5, 'it expires in 1 day, on 2027-01-30', 1],
  [89.5, 'it expires in less than a day, on 2027-01-30', 0],
  [90, 'it expired on 2027-01-30', 0],
  [91.5, 'it expired on 2027-01-30', -2],
])('after %d days of 90: %s', (days, text, left) => {
  expect(describeValidity(certificate, at(days))).toBe(text);
  expect(daysLeft(certificate.notAfterEpochMs, at(days))).toBe(left);
  const isInvalid = days < 0 || days >= 90;
  expect(describeInvalidity(certificate, at(days))).toBe(isInvalid ? text : undefined);
});
