/** The process of the synthetic sidecars. Arguments: the interval of scrapes in ms. */
import { cpuUsage } from 'node:process';
import { obeyOrders } from '../../support/load/orders.ts';
import { type Counts, SyntheticFleet } from './synthetic-fleet.ts';
import type { Size } from './synthetic-site.ts';

const fleet = await SyntheticFleet.start(Number(process.argv[2]));

obeyOrders({
  targets: (counts: Counts) => fleet.targets(counts),
  series: (size: Size) => fleet.seriesOf(size),
  forget: () => fleet.forget(),
  takeScrapes: () => fleet.takeScrapes(),
  cpuUs: () => cpuUsage().user + cpuUsage().system,
});
