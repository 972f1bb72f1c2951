/**
 * One suite of HTTP/1.1 for every data path: through the sidecar, both ends see the same as without it. Cases are played
 * at both ends with raw sockets (`wire/`), so that nothing in between is assumed.
 */
import { connectionCases } from './wire/cases/connections.ts';
import { endAndPressureCases } from './wire/cases/ends-and-pressure.ts';
import { contentCases, headCases } from './wire/cases/heads-and-contents.ts';
import { interimAndEarlyCases, sidecarOnlyCases } from './wire/cases/interim-and-sidecar-only.ts';
import { upgradeCases } from './wire/cases/upgrades-and-servers.ts';
import type { DataPathCase } from './wire/run-case.ts';

export const dataPathCases: readonly DataPathCase[] = [
  ...headCases,
  ...contentCases,
  ...interimAndEarlyCases,
  ...connectionCases,
  ...endAndPressureCases,
  ...upgradeCases,
  ...sidecarOnlyCases,
];
