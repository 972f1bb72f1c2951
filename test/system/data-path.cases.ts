/**
 * One suite of HTTP/1.1 for every data path: through the sidecar, both ends see the same as without it. Cases are played
 * at both ends with raw sockets (`wire/`), so that nothing in between is assumed.
 */
import { abortCases } from './wire/cases/aborts.ts';
import { bodyCases } from './wire/cases/bodies.ts';
import { connectionCases } from './wire/cases/connections.ts';
import { earlyAndHalfClosedCases } from './wire/cases/early-and-half-closed.ts';
import { handoverCases } from './wire/cases/handovers.ts';
import { interimAndExpectCases } from './wire/cases/interim.ts';
import { methodCases } from './wire/cases/methods.ts';
import { realServerCases } from './wire/cases/real-servers.ts';
import { sidecarOnlyCases } from './wire/cases/sidecar-only.ts';
import { targetAndFieldCases } from './wire/cases/targets-and-fields.ts';
import { upgradeCases } from './wire/cases/upgrades.ts';
import type { DataPathCase } from './wire/data-path-case.ts';

export const dataPathCases: readonly DataPathCase[] = [
  ...methodCases,
  ...targetAndFieldCases,
  ...bodyCases,
  ...interimAndExpectCases,
  ...connectionCases,
  ...earlyAndHalfClosedCases,
  ...abortCases,
  ...upgradeCases,
  ...handoverCases,
  ...realServerCases,
  ...sidecarOnlyCases,
];
