/**
 * One suite of HTTP/1.1 for every data path: through the sidecar, both ends see the same as without it. Cases are played
 * at both ends with raw sockets (`wire/`), so that nothing in between is assumed.
 */
import { connectionCases } from './wire/cases/connections.ts';
import { contentCases } from './wire/cases/contents.ts';
import { endAndPressureCases } from './wire/cases/ends-and-pressure.ts';
import { headCases } from './wire/cases/heads.ts';
import { interimAndEarlyCases } from './wire/cases/interim-and-early.ts';
import { realServerCases } from './wire/cases/real-servers.ts';
import { sidecarOnlyCases } from './wire/cases/sidecar-only.ts';
import { upgradeCases } from './wire/cases/upgrades.ts';
import type { DataPathCase } from './wire/run-case.ts';

export const dataPathCases: readonly DataPathCase[] = [
  ...headCases,
  ...contentCases,
  ...interimAndEarlyCases,
  ...connectionCases,
  ...endAndPressureCases,
  ...upgradeCases,
  ...realServerCases,
  ...sidecarOnlyCases,
];
